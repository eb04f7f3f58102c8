// The commands and the history on the page of an object.
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { ObjectRef } from "@keyturn/dashboard/contract";
import { createClient, createLogger, resourceOf, Secret, systemClock } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { issuedStory } from "../controllers/eventing-auth/records.ts";
import { type KeySet, keySetStory } from "../controllers/jwks/records.ts";
import { rotationSetStory } from "../controllers/rotation/records.ts";
import type { RotationSet } from "../controllers/rotation/rotation-set.ts";
import { sidecarsView } from "../controllers/sidecars/records.ts";
import { workloadStory } from "../workloads/workload-record.ts";
import type { ObjectStory } from "../feature/record.ts";
import { SecretCheckSum } from "../controllers/checksum/api.ts";
import { features } from "../registry.ts";
import { ObjectDetails, objectCommands, objectHistory } from "./object-detail.ts";
import { issuedFixture } from "./record.fixture.ts";
import { RecordStore } from "./record-store.ts";

const ref: ObjectRef = { apiVersion: "x/v1", kind: "JWKSConfig", resource: "jwksconfigs.keyturn.io", namespace: "shop", name: "tokens" };
const common = { ref, health: "healthy", reason: "Ready", message: "", detail: "", about: [], conditions: [], createdMs: 1 } as const;

const keySet: KeySet = {
  ...common,
  id: "jwks/JWKSConfig/shop/tokens",
  step: "jwks",
  configMap: "tokens-jwks",
  endpoint: "/jwks.json",
  keys: [
    { kid: "new-key-of-this-month", state: "Active", signs: true, source: "tls", algorithm: "ES256", sinceMs: 5 },
    { kid: "old", state: "Removed", signs: false, source: "tls", algorithm: "ES256", sinceMs: 2, replacedMs: 5, removeMs: 9 },
    { kid: "retiring", state: "Retiring", signs: false, source: "tls", algorithm: "ES256", sinceMs: 3, replacedMs: 5, removeMs: 99 },
  ],
};

const rotationSet: RotationSet = {
  ...common,
  id: "rotation/shop/keys",
  step: "rotation",
  set: "keys",
  policy: "Settled",
  versions: [{ seq: 1, digest: "0123456789abcdef", seenMs: 2 }],
  frozen: [{ fromMs: 6, toMs: 7 }, { fromMs: 8 }],
  lanes: ["tokens", "other"].map((name) => ({
    ref: { ...ref, name },
    health: "healthy" as const,
    reason: "",
    message: "",
    detail: "",
    about: [],
    conditions: [],
    rank: 1,
    delayMs: 0,
    held: [{ seq: 1, digest: "0123456789abcdef", fromMs: 4, backfilled: name === "other" }],
    planned: [],
    gapMs: 0,
  })),
};

describe("commands", () => {
  it("name the object in full, with its namespace", () => {
    expect(objectCommands(ref, undefined).map(({ command }) => command)).toEqual([
      "kubectl get jwksconfigs.keyturn.io tokens -n shop -o yaml",
      "kubectl describe jwksconfigs.keyturn.io tokens -n shop",
      "kubectl events -n shop --for jwksconfigs.keyturn.io/tokens --watch",
      "keyturn status tokens -n shop",
    ]);
    expect(objectCommands({ ...ref, namespace: "" }, undefined)[0]?.command).toBe("kubectl get jwksconfigs.keyturn.io tokens -o yaml");
  });

  it.each<readonly [ObjectStory, readonly string[]]>([
    [
      keySetStory(ref, keySet),
      [
        "kubectl get configmap tokens-jwks -n shop -o jsonpath='{.data.jwks\\.json}'",
        "keyturn revoke -n shop new-key-of-this-month",
        "keyturn revoke -n shop retiring",
        "kubectl annotate jwksconfigs.keyturn.io tokens -n shop --overwrite keyturn.io/paused=true",
      ],
    ],
    [
      rotationSetStory(ref, rotationSet),
      [
        "keyturn plan keys -n shop",
        "keyturn history keys -n shop",
        "kubectl annotate jwksconfigs.keyturn.io tokens -n shop --overwrite keyturn.io/paused=true",
      ],
    ],
    [
      workloadStory(sidecarsView, ref, { ...common, id: "", step: "sidecars", phase: "done", why: "", stuck: false }),
      ["keyturn plan sidecars -n shop", "kubectl label jwksconfigs.keyturn.io tokens -n shop --overwrite keyturn.io/sidecar-restarts=disabled"],
    ],
    [
      issuedStory(ref, { ...common, id: "", step: "eventing-auth", deletingSinceMs: 3 }),
      [
        "kubectl annotate jwksconfigs.keyturn.io tokens -n shop --overwrite keyturn.io/paused=true",
        "kubectl annotate jwksconfigs.keyturn.io tokens -n shop --overwrite keyturn.io/abandon=target",
      ],
    ],
  ])("are those of the step", (story, commands) => {
    expect(
      objectCommands(ref, story)
        .slice(4)
        .map(({ command }) => command),
    ).toEqual(commands);
  });
});

describe("the history", () => {
  it("of a JWKS is that of its keys, the newest first, and nothing that is still to come", () => {
    expect(objectHistory(keySetStory(ref, keySet))).toEqual([
      { atMs: 9, what: "key old went" },
      { atMs: 5, what: "key new-key- was published" },
      { atMs: 5, what: "key old was replaced" },
      { atMs: 5, what: "key retiring was replaced" },
      { atMs: 3, what: "key retiring was published" },
      { atMs: 2, what: "key old was published" },
      { atMs: 1, what: "was created" },
    ]);
  });

  it("of a rotation target is that of its set", () => {
    expect(objectHistory(rotationSetStory(ref, rotationSet)).map(({ what }) => what)).toEqual([
      "the source was gone or could not be read",
      "the source was back",
      "the source was gone or could not be read",
      "got version 1",
      "other got version 1, filled in for want of an older one",
      "the source became version 1 (01234567)",
      "was created",
    ]);
  });

  it("of what has no record is empty", () => {
    expect(objectHistory(undefined)).toEqual([]);
  });
});

describe("what differs in a scope of several namespaces", () => {
  const given: Readonly<Record<string, string>> = { "checksum.scope": "all", "checksum.publish-in": "gate", "checksum.namespaces": "bank,gate" };
  const store = new RecordStore("test");
  store.commit([issuedFixture("gate", "sum")], []);
  const source = {
    step: "checksum",
    resources: [resourceOf(SecretCheckSum)],
    caches: () => [],
    ids: () => ["issued/gate/sum"],
    make: () => undefined,
    find: () => ({ id: "issued/gate/sum", kind: SecretCheckSum }),
  };
  const detailsFor = (mayList: (namespace: string) => boolean) => {
    const asked: string[] = [];
    const answer = Buffer.from(JSON.stringify({ metadata: {}, items: [] }));
    const send = async ({ path }: { readonly path: string }) => {
      asked.push(path.split("?")[0] ?? "");
      return { status: 200, headers: { "content-type": "application/json" }, body: Readable.from([answer]) };
    };
    const details = new ObjectDetails({
      client: createClient({ send, close: () => undefined }),
      clock: systemClock,
      log: createLogger({ level: "error", destination: { write: () => undefined } }),
      store,
      sources: () => [source],
      registry: features,
      flag: (each) => each.parse(given[each.name]),
      signal: new AbortController().signal,
    });
    const object = { resource: resourceOf(SecretCheckSum), namespace: "gate", name: "sum" };
    return { asked, of: () => details.of(object, { mayList: async (kind, namespace) => kind !== Secret || mayList(namespace) }) };
  };

  it("is told to nobody who may not look everywhere in it, and nothing is read for them", async () => {
    const { asked, of } = detailsFor((namespace) => namespace === "gate");
    expect(await of()).toMatchObject({ differencesHidden: "you may not list secrets in namespace bank" });
    expect(asked.filter((path) => path.includes("secrets"))).toEqual([]);
  });

  it("is told to who may", async () => {
    const { asked, of } = detailsFor(() => true);
    expect(await of()).toMatchObject({ differences: [] });
    expect(asked.filter((path) => path.includes("secrets"))).toEqual(["/api/v1/namespaces/bank/secrets", "/api/v1/namespaces/gate/secrets"]);
  });
});
