// The rotation controller at work on many sets: their sources are changed all at once, and it is timed until every target's status tells of its new version.
import { createClient, createHttpTransport, loadConfig } from "@keyturn/runtime";
import { endWithInput, report } from "./contestant-line.ts";
import { runRotation } from "./rotation-sets.ts";
import { changeSources } from "./rotation-sources.ts";

const [namespace = "", count = "0"] = process.argv.slice(2);
const sets = Number(count);

endWithInput();
const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} })));
let arrived: ReturnType<typeof Promise.withResolvers<void>> = Promise.withResolvers();
let expected = { live: 1, fallback: 1 };
const settled = new Set<string>();
void runRotation({
  namespace,
  onVersion(target, seq) {
    if (seq >= (target.endsWith("-live") ? expected.live : expected.fallback)) settled.add(target);
    if (settled.size === 2 * sets) arrived.resolve();
  },
});
await arrived.promise;
await rotate({ live: 2, fallback: 1 });
// From here on every change moves both targets and drops a version.
report({ type: "done", ms: await rotate({ live: 3, fallback: 2 }) });

/** Changes every source and resolves when all targets have their new version, to how long that took. */
async function rotate(next: typeof expected): Promise<number> {
  expected = next;
  settled.clear();
  arrived = Promise.withResolvers();
  // What a target already holds is not told again.
  if (next.fallback === 1) for (let index = 0; index < sets; index++) settled.add(`${namespace}/set-${String(index).padStart(4, "0")}-fallback`);
  const startedMs = performance.now();
  await changeSources(client, { namespace, sets, value: `value ${next.live}` });
  await arrived.promise;
  return performance.now() - startedMs;
}
