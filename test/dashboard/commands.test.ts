// Every command that the page offers, in a real shell: a name that somebody made for it stays one word, and on a cluster each does what it says.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ObjectRef } from "@keyturn/dashboard/contract";
import { ConfigMap } from "@keyturn/runtime";
import { startOperator } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { checksumStory } from "../../packages/keyturn/src/controllers/checksum/records.ts";
import { consumersView } from "../../packages/keyturn/src/controllers/consumers/records.ts";
import { issuedStory } from "../../packages/keyturn/src/controllers/eventing-auth/records.ts";
import { JWKSConfig, revokeAnnotation } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { jwksFeature } from "../../packages/keyturn/src/controllers/jwks/feature.ts";
import { keySetOf, keySetStory } from "../../packages/keyturn/src/controllers/jwks/records.ts";
import { rotationSetStory } from "../../packages/keyturn/src/controllers/rotation/records.ts";
import { sidecarsView } from "../../packages/keyturn/src/controllers/sidecars/records.ts";
import { objectCommands } from "../../packages/keyturn/src/dashboard/object-detail.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { pausedAnnotation, pausedReason } from "../../packages/keyturn/src/feature/pause-and-selection.ts";
import { type ObjectStory, pauseCommands } from "../../packages/keyturn/src/feature/record.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { workloadStory } from "../../packages/keyturn/src/workloads/workload-record.ts";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { operatorKubeconfig } from "../support/operated-namespace.ts";
import { runShell } from "../support/shell-block.ts";
import { goTo, openInBrowser, useBrowser, whenLive } from "./support/chromium.ts";
import { startContractServer } from "./support/contract-server.ts";
import { publishKeys } from "./support/shown-objects.ts";
import { stageRecords } from "./support/synthetic-records.ts";

const cluster = useSharedCluster();
const browser = useBrowser();

/** Holds nothing but a `kubectl` and a `keyturn` that write down how they were called; beside it, an empty folder in which commands run. */
let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "keyturn-commands-"));
  await mkdir(join(root, "tools"));
  await mkdir(join(root, "here"));
  for (const tool of ["kubectl", "keyturn"]) {
    const path = join(root, "tools", tool);
    await writeFile(path, `#!/bin/sh\nprintf '%s\\0' ${tool} "$@" >> "$CALLS"\nprintf '\\n' >> "$CALLS"\n`);
    await chmod(path, 0o755);
  }
});
afterAll(() => rm(root, { recursive: true }));

/** The words of everything that a command has called. Fails if it does anything else that shows. */
async function callsOf(command: string): Promise<readonly (readonly string[])[]> {
  const calls = join(root, "calls");
  await writeFile(calls, "");
  const { stdout, stderr } = await promisify(execFile)("/bin/sh", ["-c", command], {
    cwd: join(root, "here"),
    env: { PATH: join(root, "tools"), CALLS: calls, HOME: "/nowhere" },
  });
  expect({ command, stdout, stderr, left: await readdir(join(root, "here")) }).toEqual({ command, stdout: "", stderr: "", left: [] });
  const text = await readFile(calls, "utf8");
  return text
    .split("\0\n")
    .slice(0, -1)
    .map((call) => call.split("\0"));
}

const common = { health: "healthy", message: "", detail: "", about: [], conditions: [], createdMs: 1 } as const;

/** What the page of every kind of object offers, with the same name wherever one can be. */
function offered(name: string, reason: string): readonly string[] {
  const refOf = (kind: string, resource: string): ObjectRef => ({ apiVersion: "x/v1", kind, resource, namespace: name, name });
  const base = { ...common, reason, id: "" };
  const keySet = refOf("JWKSConfig", "jwksconfigs.keyturn.io");
  const target = refOf("RotationTarget", "rotationtargets.rotator.k8s.telekom.com");
  const issued = refOf("EventingAuth", "eventingauths.operator.kyma-project.io");
  const checksum = refOf("SecretCheckSum", "secretchecksums.tengine.taobao.org");
  const workload = refOf("Deployment", "deployments.apps");
  const key = { kid: `k${name}`, signs: true, source: name, algorithm: "ES256", sinceMs: 1 } as const;
  const workloadBase = { ...base, ref: workload, step: "use", phase: "done", why: "", stuck: false } as const;
  const stories: readonly (readonly [ObjectRef, ObjectStory])[] = [
    [
      keySet,
      keySetStory(keySet, {
        ...base,
        ref: keySet,
        step: "jwks",
        configMap: name,
        endpoint: "",
        keys: [
          { ...key, state: "Active" },
          { ...key, kid: `-${name}`, state: "Retiring" },
        ],
      }),
    ],
    [target, rotationSetStory(target, { ...base, ref: target, step: "rotation", set: name, policy: "Settled", versions: [], frozen: [], lanes: [] })],
    [issued, issuedStory(issued, { ...base, ref: issued, step: "eventing-auth", deletingSinceMs: 3 })],
    [
      checksum,
      checksumStory(
        checksum,
        {
          ...base,
          ref: checksum,
          step: "checksum",
          standing: "current",
          checksums: [],
          problemCount: 0,
          problems: [],
          agents: { current: 0, behind: 0, silent: 0 },
        },
        [`--checksum.scope=${name}`],
      ),
    ],
    ...[sidecarsView, consumersView].map((view) => [workload, workloadStory(view, workload, workloadBase)] as const),
  ];
  return stories.flatMap(([ref, story]) => objectCommands(ref, story).map(({ command }) => command));
}

const hostile = [
  "x; echo pwned > pwned #",
  "$(echo > pwned)",
  "`echo > pwned`",
  "a && echo > pwned",
  "a | echo > pwned",
  "> pwned",
  "it's",
  'say "hi"',
  "a b",
  "*",
  "~",
  "a\\",
  "a\necho > pwned",
  "--kubeconfig=evil",
  "-n",
  "!!",
  "a\u202eb\u200bc",
];

/** What stands for a name where a shell could not be given it, or nobody could see what it is. */
function shownName(name: string, isWord: boolean): string {
  const visible = name.replaceAll(/[\n\u202e\u200b]/g, "?");
  return isWord ? visible.replace(/^-/, "?") : visible;
}

test.each(["Ready", "Paused"])(
  "of an object that is %s: whatever it is called, each command calls one program, and each name is one word",
  async (reason) => {
    const plain = offered("plain-name", reason);
    expect(plain.length).toBeGreaterThan(20);
    const expected: (readonly string[])[] = [];
    for (const command of plain) expected.push((await callsOf(command)).flat());
    for (const name of hostile) {
      const commands = offered(name, reason);
      expect(commands).toHaveLength(plain.length);
      // All in one shell: a quote that is not closed would swallow the next.
      const calls = await callsOf(commands.join("\n"));
      expect(calls).toHaveLength(plain.length);
      for (const [index, words] of calls.entries()) {
        // What follows `-n` is a value, whatever it begins with.
        const asked = expected[index]?.map((word, at, all) =>
          word.replaceAll("plain-name", () => shownName(name, word === "plain-name" && all[at - 1] !== "-n")),
        );
        expect(words).toEqual(asked);
      }
    }
  },
);

test("what an empty list suggests is a command, too", async () => {
  const tables = features.flatMap(({ records }) => records.layout.tables);
  for (const { empty } of tables)
    expect((await callsOf(empty.command)).map(([tool]) => tool)).toEqual([expect.stringMatching(/^(kubectl|keyturn)$/)]);
});

test("a link that somebody made shows no command that does anything else", async () => {
  await using server = await startContractServer({ folder: await buildDashboard(), records: stageRecords() });
  await using watched = await openInBrowser(browser(), server.url);
  const { page, problems } = watched;
  await whenLive(page);
  for (const name of hostile) {
    await goTo(page, `#/object/${[name, name, name].map(encodeURIComponent).join("/")}`);
    await soon(async () => expect(await page.locator("main h1").textContent()).toBe(name));
    const command = await page.locator("main pre").innerText();
    const word = shownName(name, true);
    expect(await callsOf(command)).toEqual([["kubectl", "get", word, word, "-n", shownName(name, false)]]);
  }
  expect(problems).toEqual([]);
});

test("on a cluster each does what it says, also the second time, and what was revoked before stays revoked", async () => {
  await cluster().apply(renderCrds(features));
  const namespace = await cluster().namespace("commands");
  const controllers = jwksFeature.controllers((flag) => flag.parse(undefined));
  const kubeconfig = await operatorKubeconfig(
    cluster(),
    namespace,
    controllers.flatMap(({ access }) => access),
  );
  const operator = await startOperator({ operator: keyturn, kubeconfig, controllers, namespaces: [namespace], leaderElection: { namespace } });
  try {
    await publishKeys(cluster(), namespace, "other");
    await publishKeys(cluster(), namespace, "tokens");
    await cluster().client.mergePatch(JWKSConfig, { namespace, name: "tokens" }, { spec: { certificateSecrets: ["other-tls"] } });
    const object = await soon(async () => {
      const found = await cluster().client.get(JWKSConfig, { namespace, name: "tokens" });
      expect(found?.status?.keys?.map(({ state }) => state)).toEqual(["Active", "Active"]);
      if (!found) throw new Error("the object is gone");
      return found;
    });
    const { keySet } = keySetOf(JWKSConfig, object, { removed: [], nowMs: Date.now() });
    const commands = objectCommands(keySet.ref, keySetStory(keySet.ref, keySet)).map(({ command }) => command.replace(/ --watch$/, ""));
    const program = `keyturn() { '${process.execPath}' packages/keyturn/src/main.ts "$@"; }\n`;
    for (const command of commands) await runShell(cluster(), program + command.replace(/^keyturn revoke /, "keyturn revoke --yes --timeout 5m "));
    for (const command of commands.filter((each) => each.startsWith("kubectl "))) await runShell(cluster(), command);
    const { metadata } = (await cluster().client.get(JWKSConfig, { namespace, name: "tokens" })) ?? object;
    expect(metadata.annotations?.[revokeAnnotation]?.split(",")).toHaveLength(2);
    expect(metadata.annotations?.[pausedAnnotation]).toBe("true");
    const document = await cluster().client.get(ConfigMap, { namespace, name: "tokens-jwks" });
    expect(document?.data?.["jwks.json"]).toMatch(/"keys": ?\[\]/);
    const [resume = ""] = pauseCommands(keySet.ref, pausedReason).map(({ command }) => command);
    await runShell(cluster(), resume);
    expect((await cluster().client.get(JWKSConfig, { namespace, name: "tokens" }))?.metadata.annotations).not.toHaveProperty([pausedAnnotation]);
  } finally {
    await operator.stop();
  }
});
