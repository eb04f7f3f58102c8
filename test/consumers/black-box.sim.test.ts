// Seen from outside: what Reloader does for those who use its annotations, and what its users ask for. A case per behaviour.
import { createHash } from "node:crypto";
import { DaemonSet, Deployment, type Kind, Secret, StatefulSet } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { Rollout } from "../../packages/keyturn/src/workloads/workload.ts";
import { all, auto, ConsumersWorld, password, type Using } from "./consumers-world.ts";

const annotation = "reloader.stakater.com";
const config = { env: [{ name: "LEVEL", valueFrom: { configMapKeyRef: { name: "conf", key: "level" } } }] };
const mounted = { volumeMounts: [{ name: "v", mountPath: "/v" }] };
const files = (volume: object): Using => ({ annotations: auto, container: mounted, volumes: [{ name: "v", ...volume }] });
const using = (annotations: Readonly<Record<string, string>>, container: object = password): Using => ({ annotations, container });

type Act = (world: ConsumersWorld) => void | Promise<void>;

interface Case {
  readonly flags?: Readonly<Record<string, string>>;
  readonly app: Using;
  /** Before anything is seen of it. Default: nothing more than the Secret `db` and the ConfigMap `conf`. */
  readonly given?: Act;
  readonly act: Act;
  /** How often the Deployment `app` is restarted for it. */
  readonly restarts: number;
}

const change = (world: ConsumersWorld): void => world.secret("db", { password: "two", user: "app" });
const reconfigure: Act = (world) => world.configMap("conf", { level: "high" });
const marked: Act = (world) => world.secret("db", { password: "one", user: "app" }, { [`${annotation}/match`]: "true" });
const ignored: Act = (world) => world.secret("db", { password: "two" }, { [`${annotation}/ignore`]: "true" });

async function begun({ flags = {}, app, given }: Omit<Case, "act" | "restarts">): Promise<ConsumersWorld> {
  const world = new ConsumersWorld({ flags });
  world.secret("db", { password: "one", user: "app" });
  world.configMap("conf", { level: "low" });
  await given?.(world);
  world.deployment("app", app);
  world.start();
  await world.pass(45);
  return world;
}

async function restarted({ act, ...scene }: Case): Promise<number> {
  const world = await begun(scene);
  await act(world);
  await world.pass(60);
  return world.restarts.filter((name) => name === "app").length;
}

const csi = { driver: "secrets-store.csi.k8s.io", volumeAttributes: { secretProviderClass: "vault" } };
const stores = { "consumers.secret-stores": "true" };
const mount =
  (version: string): Act =>
  (world) =>
    world.mount("app-1", "vault", version);

const reloaders: Readonly<Record<string, Case>> = {
  "auto: a Secret in env": { app: using(auto), act: change, restarts: 1 },
  "auto: a ConfigMap in env": { app: using(auto, config), act: reconfigure, restarts: 1 },
  "auto: a Secret in envFrom": { app: using(auto, all), act: change, restarts: 1 },
  "auto: a ConfigMap in envFrom": { app: using(auto, { envFrom: [{ configMapRef: { name: "conf" } }] }), act: reconfigure, restarts: 1 },
  "auto: a Secret in a volume": { app: files({ secret: { secretName: "db" } }), act: change, restarts: 1 },
  "auto: a ConfigMap in a volume": { app: files({ configMap: { name: "conf" } }), act: reconfigure, restarts: 1 },
  "auto: a Secret in a projected volume": { app: files({ projected: { sources: [{ secret: { name: "db" } }] } }), act: change, restarts: 1 },
  "auto: a ConfigMap in a projected volume": {
    app: files({ projected: { sources: [{ configMap: { name: "conf" } }] } }),
    act: reconfigure,
    restarts: 1,
  },
  "auto: an init container": { app: { annotations: auto, initContainer: password }, act: change, restarts: 1 },
  "auto false, against auto for all": {
    flags: { "consumers.auto": "true" },
    app: using({ [`${annotation}/auto`]: "false" }),
    act: change,
    restarts: 0,
  },
  "auto of Secrets: a Secret": { app: using({ [`secret.${annotation}/auto`]: "true" }), act: change, restarts: 1 },
  "auto of Secrets: no ConfigMap": { app: using({ [`secret.${annotation}/auto`]: "true" }, config), act: reconfigure, restarts: 0 },
  "auto of ConfigMaps: a ConfigMap": { app: using({ [`configmap.${annotation}/auto`]: "true" }, config), act: reconfigure, restarts: 1 },
  "auto of ConfigMaps: no Secret": { app: using({ [`configmap.${annotation}/auto`]: "true" }), act: change, restarts: 0 },
  "one auto of three is enough": { app: using({ [`${annotation}/auto`]: "false", [`secret.${annotation}/auto`]: "true" }), act: change, restarts: 1 },
  "reload of a Secret that it uses": { app: using({ [`secret.${annotation}/reload`]: "db" }), act: change, restarts: 1 },
  "reload of a Secret that it does not use": { app: using({ [`secret.${annotation}/reload`]: "db" }, {}), act: change, restarts: 1 },
  "reload of one of several": { app: using({ [`secret.${annotation}/reload`]: "a, db" }, {}), act: change, restarts: 1 },
  "reload of others": { app: using({ [`secret.${annotation}/reload`]: "a,b" }), act: change, restarts: 0 },
  "reload of a ConfigMap": { app: using({ [`configmap.${annotation}/reload`]: "conf" }, {}), act: reconfigure, restarts: 1 },
  "search: what is marked": {
    given: marked,
    app: using({ [`${annotation}/search`]: "true" }),
    act: (world) => world.secret("db", { password: "two" }, { [`${annotation}/match`]: "true" }),
    restarts: 1,
  },
  "search: not what is not marked": { app: using({ [`${annotation}/search`]: "true" }), act: change, restarts: 0 },
  "search: not what it does not use": {
    given: marked,
    app: using({ [`${annotation}/search`]: "true" }, {}),
    act: (world) => world.secret("db", { password: "two" }, { [`${annotation}/match`]: "true" }),
    restarts: 0,
  },
  "marked, but not searched": { given: marked, app: using({}), act: change, restarts: 0 },
  "auto goes before search": { app: using({ ...auto, [`${annotation}/search`]: "true" }), act: change, restarts: 1 },
  "an ignored Secret": { app: using(auto), act: ignored, restarts: 0 },
  "an ignored ConfigMap": {
    app: using(auto, config),
    act: (world) => world.configMap("conf", { level: "high" }, { [`${annotation}/ignore`]: "true" }),
    restarts: 0,
  },
  "auto for all": { flags: { "consumers.auto": "true" }, app: using({}), act: change, restarts: 1 },
  "nothing is said": { app: using({}), act: change, restarts: 0 },
  "the annotation of the template": { app: { container: password, templateAnnotations: auto }, act: change, restarts: 1 },
  "no ConfigMaps at all": { flags: { "consumers.config-maps": "false" }, app: using(auto, config), act: reconfigure, restarts: 0 },
  "namespaces that are left out": { flags: { "consumers.skip-namespaces": "default" }, app: using(auto), act: change, restarts: 0 },
  "a secret store, auto": {
    flags: stores,
    given: mount("1"),
    app: { ...files({ csi }), annotations: { [`secretproviderclass.${annotation}/auto`]: "true" } },
    act: mount("2"),
    restarts: 1,
  },
  "a secret store, reload": {
    flags: stores,
    given: mount("1"),
    app: using({ [`secretproviderclass.${annotation}/reload`]: "vault" }, {}),
    act: mount("2"),
    restarts: 1,
  },
};

const twice: Act = async (world) => {
  change(world);
  await world.pass(30);
  world.secret("db", { password: "three", user: "app" });
};
const away =
  (act: Act): Act =>
  async (world) => {
    world.kill();
    await act(world);
    await world.pass(30);
    world.start();
  };
const late = (optional: boolean): Using => using(auto, { envFrom: [{ secretRef: { name: "late", optional } }] });

const asked: Readonly<Record<string, Case>> = {
  "at first sight, none": { app: using(auto), act: () => {}, restarts: 0 },
  "the operator restarts": { app: using(auto), act: away(() => {}), restarts: 0 },
  "ten new leaders": {
    app: using(auto),
    act: async (world) => {
      for (let round = 0; round < 10; round++) await away(() => {})(world);
    },
    restarts: 0,
  },
  "a change while it is away": { app: using(auto), act: away(change), restarts: 1 },
  "a change right before it is killed": {
    app: using(auto),
    act: async (world) => {
      change(world);
      await away(() => {})(world);
    },
    restarts: 1,
  },
  "a change, and killed while it waits for more": {
    app: using(auto),
    act: async (world) => {
      change(world);
      await world.pass(3);
      await away(() => {})(world);
    },
    restarts: 1,
  },
  "two changes apart": { app: using(auto), act: twice, restarts: 2 },
  "four quick changes": {
    app: using(auto),
    act: async (world) => {
      for (const value of ["2", "3", "4", "5"]) {
        world.secret("db", { password: value });
        await world.clock.advance(1000);
      }
    },
    restarts: 1,
  },
  "a key that it does not use": { app: using(auto), act: (world) => world.secret("db", { password: "one", user: "other" }), restarts: 0 },
  "a key that no file shows": {
    app: files({ secret: { secretName: "db", items: [{ key: "password", path: "p" }] } }),
    act: (world) => world.secret("db", { password: "one", user: "other" }),
    restarts: 0,
  },
  "an annotation of the Secret": {
    app: using(auto),
    act: (world) => world.secret("db", { password: "one", user: "app" }, { note: "x" }),
    restarts: 0,
  },
  "the same again": { app: using(auto), act: (world) => world.secret("db", { user: "app", password: "one" }), restarts: 0 },
  "there and back within its settling time": {
    app: using(auto),
    act: async (world) => {
      change(world);
      await world.clock.advance(500);
      world.secret("db", { password: "one", user: "app" });
    },
    restarts: 0,
  },
  deleted: { app: using(auto), act: (world) => world.remove(Secret, "db"), restarts: 0 },
  "deleted and made again as it was": {
    app: using(auto),
    act: async (world) => {
      world.remove(Secret, "db");
      await world.pass(15);
      world.secret("db", { password: "one", user: "app" });
    },
    restarts: 0,
  },
  "deleted and made again with another value": {
    app: using(auto),
    act: async (world) => {
      world.remove(Secret, "db");
      await world.pass(15);
      change(world);
    },
    restarts: 1,
  },
  "deleted and made again while it was away": {
    app: using(auto),
    act: away((world) => {
      world.remove(Secret, "db");
      change(world);
    }),
    restarts: 1,
  },
  "an optional one that comes late": { app: late(true), act: (world) => world.secret("late", { a: "1" }), restarts: 1 },
  "one that its pods were waiting for": { app: late(false), act: (world) => world.secret("late", { a: "1" }), restarts: 0 },
  "two Secrets at once": {
    given: (world) => world.secret("other", { a: "1" }),
    app: using(auto, { envFrom: [{ secretRef: { name: "db" } }, { secretRef: { name: "other" } }] }),
    act: (world) => {
      change(world);
      world.secret("other", { a: "2" });
    },
    restarts: 1,
  },
  "another template, with another Secret": {
    given: (world) => world.secret("db2", { password: "1" }),
    app: using(auto),
    act: (world) => world.deployment("app", using(auto, { envFrom: [{ secretRef: { name: "db2" } }] })),
    restarts: 0,
  },
  "a release of a Secret and a template": {
    app: using(auto),
    act: async (world) => {
      change(world);
      await world.clock.advance(300);
      world.deployment("app", { ...using(auto), image: "app:2" });
    },
    restarts: 0,
  },
  "secrets of CSI drivers": { app: files({ csi: { driver: "nfs", nodePublishSecretRef: { name: "db" } } }), act: change, restarts: 1 },
  "what images are pulled with": { app: { annotations: auto, pullSecret: "db" }, act: change, restarts: 0 },
  "what images are pulled with, if asked for": {
    flags: { "consumers.image-pull-secrets": "true" },
    app: { annotations: auto, pullSecret: "db" },
    act: change,
    restarts: 1,
  },
  "files that kubelet updates, if only the environment counts": {
    app: { ...files({ secret: { secretName: "db" } }), annotations: { "keyturn.io/restart-on-change": "env-only" } },
    act: change,
    restarts: 0,
  },
  "a file mounted by its path, which kubelet does not update": {
    app: {
      ...files({ secret: { secretName: "db" } }),
      container: { volumeMounts: [{ name: "v", mountPath: "/p", subPath: "password" }] },
      annotations: { "keyturn.io/restart-on-change": "env-only" },
    },
    act: change,
    restarts: 1,
  },
  "never, whatever else is said": {
    flags: { "consumers.auto": "true" },
    app: using({ ...auto, "keyturn.io/restart-on-change": "never" }),
    act: change,
    restarts: 0,
  },
  "by name, in short": { app: using({ "keyturn.io/restart-on-change": "secret/db" }, {}), act: change, restarts: 1 },
  paused: { app: using({ ...auto, "keyturn.io/paused": "true" }), act: change, restarts: 0 },
  "a dry run": { flags: { "consumers.dry-run": "true" }, app: using(auto), act: change, restarts: 0 },
  "outside of its window": { flags: { "consumers.maintenance-windows": "12:00-13:00" }, app: using(auto), act: change, restarts: 0 },
};

describe("what Reloader does", () => {
  test.each(Object.entries(reloaders))("%s", async (_, each) => {
    expect(await restarted(each)).toBe(each.restarts);
  });

  test("pause-period: all changes of so long, once", async () => {
    const world = await begun({ app: using({ ...auto, [`deployment.${annotation}/pause-period`]: "2m" }) });
    await twice(world);
    await world.pass(60);
    expect(world.restarts).toEqual([]);
    await world.pass(90);
    expect(world.restarts).toEqual(["app"]);
  });

  test.each<readonly [string, Kind, Readonly<Record<string, string>>, string]>([
    ["a StatefulSet", StatefulSet, auto, "template"],
    ["a DaemonSet", DaemonSet, auto, "template"],
    ["an Argo Rollout", Rollout, auto, "restartAt"],
    ["an Argo Rollout, through its strategy", Rollout, { ...auto, [`${annotation}/rollout-strategy`]: "rollout" }, "template"],
  ])("%s", async (_, kind, annotations, by) => {
    const world = await begun({
      flags: { "consumers.argo-rollouts": "true" },
      app: {},
      given: (each) => each.other(kind, "other", using(annotations)),
    });
    change(world);
    await world.pass(60);
    expect(world.restartedBy(kind, "other")).toBe(by);
  });
});

describe("what its users ask for", () => {
  test.each(Object.entries(asked))("%s", async (_, each) => {
    expect(await restarted(each)).toBe(each.restarts);
  });

  const names = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `app-${String(index).padStart(2, "0")}`);
  const everybody =
    (count: number): Act =>
    (world) =>
      names(count).forEach((name) => world.deployment(name, using(auto)));

  test("all of twenty, five at a time", async () => {
    const world = await begun({ app: {}, given: everybody(20) });
    change(world);
    await world.passUntil(() => names(20).every((name) => world.restartCounts[name] === 1) && world.labelled.length === 0);
    await world.pass(30);
    expect([world.restarts.toSorted(), world.mostRolling]).toEqual([names(20), 5]);
  });

  test("a bad Secret takes down one of eight, and a good one brings it back", async () => {
    const world = await begun({ app: {}, given: everybody(8) });
    world.secret("db", { password: world.bad });
    await world.pass(300);
    expect(world.restarts).toEqual(["app-00"]);
    world.secret("db", { password: "good" });
    await world.passUntil(() => names(8).every((name) => (world.restartCounts[name] ?? 0) > 0) && world.labelled.length === 0);
    expect(world.restartCounts).toMatchObject({ "app-00": 2, "app-07": 1 });
  });

  test("no digest that anybody could check guesses by, and no drift but an annotation", async () => {
    const world = await begun({ app: using(auto) });
    const before = JSON.parse(world.text("app"));
    change(world);
    await world.pass(60);
    const text = world.text("app");
    const guesses = ["sha1", "sha256", "md5"].flatMap((name) => [
      createHash(name).update("two").digest("hex"),
      createHash(name).update("dHdv").digest("hex"),
    ]);
    expect(guesses.filter((guess) => text.includes(guess.slice(0, 16)))).toEqual([]);
    expect(JSON.parse(text).spec.template.spec).toEqual(before.spec.template.spec);
  });

  test("CronJobs are left alone", async () => {
    const world = await begun({ app: {}, given: (each) => each.cronJob("nightly", password) });
    const writes = world.writes;
    change(world);
    await world.pass(60);
    expect(world.writes).toBe(writes);
  });

  test("those with a higher priority first", async () => {
    const world = await begun({ app: using({ ...auto, "keyturn.io/restart-priority": "10" }), given: everybody(3) });
    change(world);
    await world.pass(60);
    expect(world.restarts[0]).toBe("app");
    expect(Deployment.kind).toBe("Deployment");
  });
});
