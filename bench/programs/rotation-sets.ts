// The rotation controller over the sets of one namespace, as both rotation programs run it.
import { createHttpTransport, createLogger, loadConfig, runOperator } from "@keyturn/runtime";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { countedTransport } from "./counted-transport.ts";

/** What a program sees of the operator's work. */
export interface RotationRun {
  readonly namespace: string;
  /** Called with each version that a target's status tells of, by the target's key. Absent: nobody looks on, which costs nothing. */
  readonly onVersion?: (target: string, seq: number) => void;
  /** Called for each request that the operator makes. */
  readonly onRequest?: () => void;
}

/** Runs the operator until the process ends. */
export async function runRotation({ namespace, onVersion, onRequest }: RotationRun): Promise<void> {
  const [controller] = rotationFeature.controllers((flag) => flag.parse(flag.default));
  if (!controller) throw new Error("the feature has no controller");
  const connection = await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} });
  await runOperator(
    {
      operator: keyturn,
      connection,
      controllers: [
        {
          ...controller,
          setup(scope) {
            const reconcile = controller.setup(scope);
            if (onVersion) {
              const versions = scope.watch(RotationTarget, { namespace, keep: ({ status }) => status?.currentVersion?.seq ?? 0 });
              versions.subscribe((change) => "value" in change && onVersion(change.key, change.value));
            }
            return reconcile;
          },
        },
      ],
      namespaces: [namespace],
      leaderElection: { enabled: false },
      log: createLogger({ level: "error", destination: process.stderr }),
      transport: countedTransport(createHttpTransport(connection), () => onRequest?.()),
    },
    new AbortController().signal,
  );
}
