// `keyturn status` on a real API server: what people are told about credentials, with many rights and with few.
import { answerWith, refuseSendInitialEvents, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { Terminal } from "../../packages/keyturn/test/terminal.ts";
import { startKeyturn } from "../support/keyturn-process.ts";
import { type RotatingNamespace, rotatingNamespace } from "../rotation/rotating-namespace.ts";
import { startTyped, typed } from "../support/typed-command.ts";

// Side by side: each test has a namespace of its own, and some wait for what takes its time, such as a server that is silent.
const cluster = useSharedCluster();

const objectSchema = z.object({
  kind: z.string(),
  name: z.string(),
  health: z.string(),
  reason: z.string(),
  next: z.object({ at: z.string(), what: z.string() }).optional(),
});
const lifeSchema = z.object({
  steps: z.array(
    z.object({
      step: z.string(),
      leases: z.array(z.object({ controller: z.string(), state: z.string() })),
      unread: z.array(z.object({ resource: z.string(), reason: z.string() })),
      objects: z.array(objectSchema),
    }),
  ),
});

/** The step that rotates, as data. */
function rotateIn(text: string): z.infer<typeof lifeSchema>["steps"][number] {
  const step = lifeSchema.parse(JSON.parse(text)).steps.find((each) => each.step === "rotate");
  if (!step) throw new Error("there is no step that rotates");
  return step;
}

/** A set with its first version, whose second one becomes live in an hour. */
async function settlingPlace(prefix: string): Promise<RotatingNamespace> {
  const place = await rotatingNamespace(cluster(), prefix);
  await place.startOperator();
  await place.putTargets(["1h", "5m"]);
  await place.putSource("first-planted-value");
  await place.holds({ t1: "first-planted-value" });
  await place.putSource("second-planted-value");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(2));
  await place.conditionSays("t2", "Ready", "True UpToDate");
  return place;
}

describe.concurrent("keyturn status", () => {
  it("shows who leads, how objects fare, what comes next and when, as the controller's own plan has it", async () => {
    await using place = await settlingPlace("status");
    const where = ["-n", place.namespace, "--operator-namespace", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
    const rotate = await soon(async () => {
      const { code, out, err } = await typed("status", ...where, "-o", "json");
      expect(`${code} ${err}`).toBe("0 ");
      // On a busy machine a Lease may be renewed late.
      expect(rotateIn(out).leases).toEqual([{ controller: "rotation", state: "held" }]);
      return rotateIn(out);
    });
    const { pending } = await place.status("t1");
    expect(rotate.objects.find(({ name }) => name === "t1")).toMatchObject({
      kind: "RotationTarget",
      health: "progressing",
      reason: "Rotating",
      next: { at: pending?.notBefore, what: "gets version 2" },
    });

    await soon(async () => {
      const { out: text } = await typed("status", ...where);
      expect(text).toMatch(/^rotate +1 progressing, 1 healthy +\S+ +in \d+m: rotationtarget\/status-\S+\/t1 gets version 2$/m);
      expect(text).not.toContain("NEEDS ATTENTION");
      expect(text).not.toContain("\u001b");
    });

    const [document] = parseAllDocuments((await typed("status", ...where, "-o", "yaml")).out).map((each) => each.toJS() as unknown);
    expect(lifeSchema.parse(document).steps.map(({ step }) => step)).toEqual(["issue", "rotate", "publish", "verify", "roll out", "use"]);
  });

  it("puts first what somebody should look at, and follows one credential by any of its names", async () => {
    await using place = await settlingPlace("concern");
    await cluster().apply({ apiVersion: "v1", kind: "Secret", metadata: { namespace: place.namespace, name: "t9" } });
    await place.putTarget("t9", { rotationOrder: 9 });
    await place.conditionSays("t9", "Ready", "False NameConflict");
    const where = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
    // The others wait for it, and say so; what failed comes first.
    for (const name of ["t1", "t2"]) await place.conditionSays(name, "Progressing", "False WaitingForTarget");
    const { out } = await typed("status", ...where);
    expect(out).toContain("NEEDS ATTENTION (3)");
    expect(out.match(/rotationtarget\/\S+ \w+, for \w+\n {4}\S/g)?.map((line) => line.replace(/, for[^]*/, ""))).toEqual([
      `rotationtarget/${place.namespace}/t9 NameConflict`,
      `rotationtarget/${place.namespace}/t1 WaitingForTarget`,
      `rotationtarget/${place.namespace}/t2 WaitingForTarget`,
    ]);

    for (const subject of ["t9", "my-key", "key-latest", "secret/key-latest", "rotationtarget/t2"]) {
      const one = await typed("status", subject, ...where);
      expect(one.code).toBe(0);
      expect(one.out).toMatch(
        /^rotate +rotationtarget\/\S+\/t1 +degraded +WaitingForTarget +\w+ +set my-key, order 1, v1 +in \d+m: gets version 2$/m,
      );
    }
    const nothing = await typed("status", "no-such-name", ...where);
    expect(nothing.code).toBe(2);
    expect(nothing.err).toContain("no-such-name");
  });

  it("shows nothing of what is secret, in whichever way it is asked", async () => {
    await using place = await settlingPlace("planted");
    const where = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
    const all = [
      await typed("status", ...where),
      await typed("status", "my-key", ...where, "-o", "yaml"),
      await typed("plan", "my-key", ...where, "-o", "json"),
      await typed("history", "my-key", ...where, "-o", "json"),
      await typed("diff", ...where, "-o", "json"),
      await typed("doctor", "--controllers=rotation", "--kubeconfig", cluster().adminKubeconfig, "-o", "json"),
    ];
    const said = all.map(({ out, err }) => `${out}${err}`).join("\n");
    expect(said).toContain("my-key");
    for (const value of ["first-planted-value", "second-planted-value"]) {
      expect(said).not.toContain(value);
      expect(said).not.toContain(Buffer.from(value).toString("base64"));
    }
  });
});

describe.concurrent("with few rights, keyturn status", () => {
  it("shows what may be read and says for each step what may not, and why", async () => {
    await using place = await settlingPlace("few");
    const rule = { apiGroups: ["rotator.k8s.telekom.com"], resources: ["rotationtargets"], verbs: ["get", "list", "watch"] };
    const kubeconfig = await cluster().kubeconfigFor({ user: `reader-${place.namespace}`, namespacedRules: { [place.namespace]: [rule] } });
    const { code, out } = await typed("status", "-n", place.namespace, "--kubeconfig", kubeconfig);
    expect(code).toBe(0);
    expect(out).toMatch(/^rotate +1 progressing, 1 healthy \(as last reported\) +not readable/m);
    expect(out).toMatch(/^roll out +not readable/m);
    // Which of the two is asked for first depends on the server.
    expect(out).toMatch(
      new RegExp(
        `^roll out: deployments.apps is not shown: you lack the right to (list|watch) deployments.apps in namespace ${place.namespace}$`,
        "m",
      ),
    );
    expect(out).toContain("led by: leases.coordination.k8s.io is not shown: you lack the right to");
    // What may be there, but cannot be read, is not denied.
    const nothing = await typed("status", "no-such-name", "-n", place.namespace, "--kubeconfig", kubeconfig);
    expect(nothing).toMatchObject({ code: 1, out: "" });
    expect(nothing.err).toMatch(
      /^keyturn: nothing that is called no-such-name.* as far as it could be read; .*deployments\.apps is not shown: you lack the right/,
    );
  });

  it("shows what may not be read when that is everything, and fails", async () => {
    const kubeconfig = await cluster().kubeconfigFor({ user: "nobody-in-particular" });
    const { code, out, err } = await typed("status", "-A", "--kubeconfig", kubeconfig, "-o", "json");
    expect(code).toBe(1);
    const failure = /^keyturn: nothing could be read: you lack the right to (list|watch) \S+ in the cluster, and more\n$/;
    expect(err).toMatch(failure);
    // Of one credential nobody can say that it is not there.
    expect(await typed("status", "-A", "signing-key", "--kubeconfig", kubeconfig)).toEqual({ code: 1, out: "", err: expect.stringMatching(failure) });
    for (const { objects, unread } of lifeSchema.parse(JSON.parse(out)).steps) {
      expect(objects).toEqual([]);
      expect(unread.length).toBeGreaterThan(0);
    }
  });
});

describe.concurrent("of an API server that is not quite itself, keyturn status", () => {
  it("shows what can be read and says what failed", async () => {
    await using place = await settlingPlace("half");
    await using proxy = await startFaultProxy(cluster());
    const kubeconfig = proxy.through(cluster().adminKubeconfig);
    using _failing = proxy.inject(answerWith({ status: 503, message: "etcd is away" }, { path: /\/rotationtargets/ }));
    const { code, out } = await typed("status", "-n", place.namespace, "--kubeconfig", kubeconfig);
    expect(code).toBe(0);
    expect(out).toMatch(/^rotate +not readable/m);
    expect(out).toMatch(/^rotate: rotationtargets.rotator.k8s.telekom.com cannot be read: the API server answered 503/m);
    expect(out).toMatch(/^roll out +none/m);
  });

  it("works where lists are paged, and where nobody may ask for the version; and so does doctor", async () => {
    await using place = await settlingPlace("older");
    await using proxy = await startFaultProxy(cluster());
    const kubeconfig = proxy.through(cluster().adminKubeconfig);
    using _paged = proxy.inject(refuseSendInitialEvents());
    using _refused = proxy.inject(answerWith({ status: 403 }, { path: /^\/version/ }));
    const { code, out } = await typed("status", "-n", place.namespace, "--kubeconfig", kubeconfig);
    expect(code).toBe(0);
    expect(out).toMatch(/^rotate +1 progressing, 1 healthy/m);
    await soon(async () => {
      const doctor = await typed("doctor", "--controllers=rotation", `--operator-namespace=${place.namespace}`, "--kubeconfig", kubeconfig);
      expect(doctor.out).toMatch(/warn +server version +you may not ask for the server's version/);
      expect(doctor.out).toMatch(/ok +watch list +the API server cannot list by watching; lists are paged instead/);
      expect(doctor.code).toBe(0);
    });
  });
});

describe.concurrent("keyturn status --watch", () => {
  it("prints the whole once and then each change, from watches alone, until Ctrl-C", async () => {
    await using place = await settlingPlace("follow");
    await using proxy = await startFaultProxy(cluster());
    const kubeconfig = proxy.through(cluster().adminKubeconfig);
    const keyturn = startKeyturn(["status", "--watch", "-n", place.namespace, "--kubeconfig", kubeconfig]);
    await soon(() => expect(keyturn.output.out).toMatch(/^rotate +1 progressing, 1 healthy/m));
    const asked = (): number => proxy.requests({ method: "GET" }).filter(({ path }) => path.includes("rotationtargets")).length;
    const shown = async (name: string): Promise<void> => {
      await place.putTarget(name, { rotationOrder: Number(name.slice(1)), rotationDelay: "5m" });
      await soon(() =>
        expect(keyturn.output.out).toMatch(new RegExp(`Z  rotate  rotationtarget/${place.namespace}/${name}  progressing  SetChanged`)),
      );
    };
    // What shows a change has its watch.
    await shown("t7");
    const before = asked();
    await shown("t8");
    await cluster().kubectl("delete", "rotationtarget", "t8", "-n", place.namespace);
    await soon(() => expect(keyturn.output.out).toMatch(new RegExp(`rotationtarget/${place.namespace}/t8  is gone`)));
    expect(asked()).toBe(before);
    keyturn.kill("SIGINT");
    expect(await keyturn.exit).toBe(0);
    expect(keyturn.output.err).toBe("");
  });

  it("tells in a pipe when the API server freezes and when it is back, and when nobody leads any more", async () => {
    await using place = await rotatingNamespace(cluster(), "frozen");
    const operator = await place.startOperator();
    await using proxy = await startFaultProxy(cluster());
    const where = ["-n", place.namespace, "--operator-namespace", place.namespace, "--kubeconfig", proxy.through(cluster().adminKubeconfig)];
    const command = startTyped(["status", "--watch", ...where]);
    await soon(() => expect(command.output.out).toMatch(/^rotate +none +\S+/m));
    {
      using _frozen = proxy.stall();
      await soon(() => expect(command.output.out).toMatch(/Z {2}rotate {2}rotationtargets\S+ cannot be read: the API server has been silent/));
      await soon(() => expect(command.output.out).toMatch(/Z {2}led by {2}leases\S+ cannot be read/));
    }
    await soon(() => expect(command.output.out).toMatch(/Z {2}rotate {2}can be read again/));
    await operator.stop();
    await soon(() => expect(command.output.out).toMatch(/Z {2}rotate {2}led by nobody/));
    command.interrupt();
    expect(await command.exit).toBe(0);
  });

  it("redraws in place and in colour on a terminal", async () => {
    await using place = await settlingPlace("redraw");
    const command = startTyped(["status", "-w", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig], { height: () => 40 });
    await soon(() => expect(command.output.out).toContain("\u001b[36m1 progressing\u001b[0m"));
    await cluster().kubectl("delete", "rotationtarget", "t2", "-n", place.namespace);
    // The change is drawn over what was there: the table is on the screen once.
    await soon(async () => {
      const terminal = new Terminal(200, 60);
      terminal.write(command.output.out);
      const { shown } = await terminal.lines();
      expect(shown.join("\n")).toMatch(/^rotate +1 progressing {3}/m);
      expect(shown.filter((line) => line.startsWith("STEP"))).toHaveLength(1);
    });
    command.interrupt();
    expect(await command.exit).toBe(0);
  });

  it("writes a line of JSON for each change", async () => {
    await using place = await settlingPlace("lines");
    const command = startTyped(["status", "-w", "-o", "json", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig]);
    const lines = (): readonly { readonly type: string; readonly object: { readonly name: string; readonly health: string } }[] =>
      command.output.out
        .trimEnd()
        .split("\n")
        .filter((line) => line !== "")
        .flatMap((line) => {
          // Others are about who leads and what cannot be read.
          const change = z.looseObject({ type: z.string() }).parse(JSON.parse(line));
          const object = z.object({ name: z.string(), health: z.string() });
          return change["object"] === undefined ? [] : [{ type: change.type, object: object.parse(change["object"]) }];
        });
    await soon(() =>
      expect(lines().map(({ type, object: { name } }) => `${type} ${name}`)).toEqual(expect.arrayContaining(["added t1", "added t2"])),
    );
    await cluster().apply({ apiVersion: "v1", kind: "Secret", metadata: { namespace: place.namespace, name: "t9" } });
    await place.putTarget("t9", { rotationOrder: 9 });
    await soon(() => expect(lines().some(({ object: { name, health } }) => name === "t9" && health === "failed")).toBe(true));
    command.interrupt();
    expect(await command.exit).toBe(0);
  });
});

it.concurrent("keyturn history --watch and keyturn plan --watch show a change when it comes", async () => {
  await using place = await settlingPlace("history-watch");
  const where = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
  const history = startTyped(["history", "my-key", "--watch", ...where]);
  const plan = startTyped(["plan", "my-key", "--watch", "-o", "json", ...where]);
  await soon(() => expect(history.output.out).toMatch(/^v2 .*source$/m));
  await soon(() => expect(plan.output.out).toContain('"version":2'));
  await place.putSource("third-planted-value");
  await soon(() => expect(history.output.out).toMatch(/^v3 .*source$/m));
  await soon(() => expect(plan.output.out).toContain('"version":3'));
  for (const command of [history, plan]) {
    command.interrupt();
    expect(await command.exit).toBe(0);
  }
});
