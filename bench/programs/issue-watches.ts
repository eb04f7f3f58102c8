// One watch on each of many clusters, as the issuing controller holds them, and nothing else.
import { readFileSync } from "node:fs";
import { createLogger, embeddedKubeconfig, systemClock, systemRandom } from "@keyturn/runtime";
import { Target } from "../../packages/keyturn/src/controllers/eventing-auth/target.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [file = "", wanted = "0"] = process.argv.slice(2);
/** So many first, that do not count: they make the program load and compile all that it needs. */
const warmUp = 50;

endWithInput();
const { kubeconfigs } = JSON.parse(readFileSync(file, "utf8")) as { readonly kubeconfigs: readonly string[] };
const log = createLogger({ level: "error", destination: process.stderr });
const targets: Target[] = [];

await open(warmUp);
report({ type: "ready" });
process.stdin.once("data", () => void open(Number(wanted)).then(() => report({ type: "open" })));

/** Opens more of them, and resolves when each has shown what it has. */
async function open(more: number): Promise<void> {
  const waits = kubeconfigs.slice(targets.length, targets.length + more).map(async (kubeconfig) => {
    const connection = await embeddedKubeconfig(kubeconfig, { name: "bench", clock: systemClock });
    const { promise, resolve } = Promise.withResolvers<void>();
    const target = new Target({
      connection,
      place: { namespace: "kyma-system", name: "eventing-webhook-auth" },
      clock: systemClock,
      random: systemRandom,
      log,
      onChange: () => {
        if (target.sight().type === "seen") resolve();
      },
    });
    targets.push(target);
    await promise;
  });
  await Promise.all(waits);
}
