// From when on a key may sign, as a JWKSConfig's status says: every part of it that is missing, older or in doubt makes others wait, and says why.
import { describe, expect, test } from "vitest";
import { keepPublisher, type KeyPublisher, type NamedKey, publicationOf } from "./key-publication.ts";

const since = "2026-01-01T00:00:00.500Z";
const sinceMs = Date.parse(since);
const key: NamedKey = { thumbprint: "t", certificateKeyId: "c0ffee" };
const condition = (type: string, status: string, reason = status === "True" ? type : "Broken"): object => ({
  type,
  status,
  reason,
  message: `${type} is ${status}`,
  lastTransitionTime: since,
});

/** A JWKSConfig that publishes the key, with changes. */
function config({ spec = {}, status = {}, metadata = {} }: { spec?: object; status?: object; metadata?: object } = {}): KeyPublisher | undefined {
  const object = {
    metadata: { namespace: "shop", name: "tokens", uid: "u", resourceVersion: "1", generation: 3, ...metadata },
    spec: { certificateSecret: "a", configMapName: "b", ...spec },
    status: {
      observedGeneration: 3,
      cacheSeconds: 60,
      conditions: [condition("Published", "True")],
      keys: [{ kid: "t", state: "Active", source: "a", since, availableSince: since, thumbprint: "t" }],
      ...status,
    },
  };
  return keepPublisher(object);
}

test("a key is known everywhere its cache time after it was to be had; with nginx also its ending pods have to be gone", () => {
  expect(publicationOf(key, "tokens", config())).toEqual({ fromMs: sinceMs + 60_000 });
  const served = { spec: { nginxConfigMapName: "n" }, status: { conditions: [condition("Published", "True"), condition("Served", "True")] } };
  expect(publicationOf(key, "tokens", config(served))).toEqual({ fromMs: sinceMs + 90_000 });
});

test("what is wrong with other sources of the document holds up nobody", () => {
  const status = { conditions: [condition("Published", "False", "SecretNotFound")] };
  expect(publicationOf(key, "tokens", config({ status }))).toEqual({ fromMs: sinceMs + 60_000 });
});

const entry = { kid: "t", state: "Active", source: "a", since, thumbprint: "t" };

describe("others wait, and hear why", () => {
  test.each<readonly [string, KeyPublisher | undefined, boolean, RegExp]>([
    ["there is no such JWKSConfig", undefined, true, /does not exist/],
    ["it is being deleted", config({ metadata: { deletionTimestamp: since } }), true, /being deleted/],
    ["the key is revoked", config({ status: { revoked: [{ name: "t", thumbprint: "t" }] } }), true, /has revoked/],
    ["its spec is newer than its status", config({ metadata: { generation: 4 } }), false, /has not been looked at/],
    ["an earlier release wrote its status", config({ status: { cacheSeconds: undefined } }), false, /has not been looked at/],
    ["its spec cannot be used", config({ status: { conditions: [condition("Published", "False", "InvalidSpec")] } }), true, /cannot be used/],
    ["the key is pending", config({ status: { keys: [{ ...entry, state: "Pending" }] } }), false, /not published the key yet/],
    ["the key is another", config({ status: { keys: [{ ...entry, thumbprint: "u", availableSince: since }] } }), false, /not published the key yet/],
    ["the key is published and not to be had", config({ status: { keys: [entry] } }), false, /not where everybody reads it/],
    ["nothing is known of nginx", config({ spec: { nginxConfigMapName: "n" } }), false, /does not serve the key everywhere yet: nothing is known/],
    [
      "pods are on their way",
      config({ spec: { nginxConfigMapName: "n" }, status: { conditions: [condition("Served", "False", "PodsNotAvailable")] } }),
      false,
      /Served is False/,
    ],
    [
      "pods fail",
      config({ spec: { nginxConfigMapName: "n" }, status: { conditions: [condition("Served", "False", "PodsFail")] } }),
      true,
      /Served is False/,
    ],
    ["a renewed certificate has another kid", config({ spec: { keyId: "CertificateSHA1" } }), false, /not published the key yet/],
  ])("%s", (_what, publisher, isLasting, message) => {
    const publication = publicationOf(key, "tokens", publisher);
    expect(publication).toMatchObject({ isLasting });
    expect("message" in publication && publication.message).toMatch(message);
  });
});

test("with kids of certificates the very certificate counts", () => {
  const publisher = config({ spec: { keyId: "CertificateSHA1" }, status: { keys: [{ ...entry, kid: "c0ffee", availableSince: since }] } });
  expect(publicationOf(key, "tokens", publisher)).toEqual({ fromMs: sinceMs + 60_000 });
});

test.each([
  ["no object", {}],
  ["keys that are none", { status: { keys: [{ kid: 3 }] } }],
  ["a time that is none", { status: { keys: [{ ...entry, availableSince: "soon" }] } }],
  ["a negative cache time", { status: { cacheSeconds: -1 } }],
])("what cannot be read is believed in nothing: %s", (_what, change) => {
  expect("status" in change ? config(change) : keepPublisher({ metadata: { name: "x" } })).toBeUndefined();
});
