// `keyturn doctor`: what is wrong with an installation, and what to do about it.
import { type AccessRule, managerAccess, parseBindAddress, systemClock } from "@keyturn/runtime";
import { chooseFeatures, controllersOf } from "../registry.ts";
import { examine, findingsText } from "../doctor/doctor.ts";
import type { Feature } from "../feature/feature.ts";
import { type Flag, readFlags, textFlag, UsageError } from "../feature/flag.ts";
import { operatorFlags } from "../operator-flags.ts";
import { paintFor } from "../text.ts";
import type { Console } from "./command-line.ts";
import { outputFlag, printed } from "./output.ts";
import { leaseNameOf } from "./manifests.ts";
import { inSession } from "./session.ts";

const flags = {
  output: outputFlag,
  controllers: operatorFlags.controllers,
  namespaces: operatorFlags.namespaces,
  leaderElect: operatorFlags.leaderElect,
  metricsBindAddress: operatorFlags.metricsBindAddress,
  metricsSecure: operatorFlags.metricsSecure,
  operatorNamespace: textFlag({
    name: "operator-namespace",
    placeholder: "NAMESPACE",
    help: "where the operator runs; otherwise that of --as-service-account, or its Leases are looked for everywhere",
  }),
  serviceAccount: textFlag({
    name: "as-service-account",
    placeholder: "NAMESPACE/NAME",
    help: "check the rights of this ServiceAccount instead of your own; needs the right to create subjectaccessreviews",
  }),
};

/** The flags of `keyturn doctor`: its own, and those of the controllers, since some of them change what a controller needs. */
export function doctorFlags(registry: readonly Feature[]): readonly Flag[] {
  return [operatorFlags.kubeconfig, operatorFlags.context, ...Object.values(flags), ...registry.flatMap((feature) => feature.flags)];
}

/** Prints what it finds. Rejects, so that the exit code is 1, if something is wrong. */
export async function doctorCommand(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  registry: readonly Feature[],
): Promise<void> {
  const { output, namespaces, leaderElect, ...read } = readFlags(flags, given, console.environment);
  const serviceAccount = read.serviceAccount === undefined ? undefined : parseServiceAccount(read.serviceAccount);
  const operatorNamespace = read.operatorNamespace ?? serviceAccount?.namespace;
  const chosen = chooseFeatures(read.controllers, registry);
  const controllers = controllersOf(chosen, given, console.environment);
  const declared = controllers.flatMap(({ access }) => access);
  const manager = managerAccess({
    operatorNamespace: operatorNamespace ?? "default",
    controllerAccess: declared,
    leaderElection: leaderElect && operatorNamespace !== undefined,
    leases: controllers.map(leaseNameOf),
    secureMetrics: read.metricsSecure && parseBindAddress(read.metricsBindAddress).type === "listen",
  });
  const own = operatorNamespace ?? "default";
  const here = declared.map((rule): AccessRule => (rule.inOwnNamespace ? Object.assign({}, rule, { namespace: own }) : rule));
  const inPlaces = Object.entries(manager.accessIn).flatMap(([namespace, rules]) => rules.map((rule) => ({ ...rule, namespace })));
  const findings = await inSession(given, console, (session) =>
    examine({
      ...session,
      clock: systemClock,
      features: chosen,
      controllers: leaderElect ? controllers.map(({ name }) => name) : [],
      access: [...here, ...manager.access, ...inPlaces],
      namespaces,
      operatorNamespace,
      serviceAccount,
    }),
  );
  const paint = paintFor(console.environment, console.height() !== undefined);
  console.out(`${printed({ text: findingsText(findings, paint), data: { findings } }, output)}\n`);
  const failures = findings.filter(({ level }) => level === "fail").length;
  if (failures > 0) throw new Error(`${failures} ${failures === 1 ? "check" : "checks"} failed`);
}

function parseServiceAccount(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace, name, ...rest] = text.split("/");
  if (!namespace || !name || rest.length > 0) throw new UsageError(`--as-service-account: "${text}" is not NAMESPACE/NAME`);
  return { namespace, name };
}
