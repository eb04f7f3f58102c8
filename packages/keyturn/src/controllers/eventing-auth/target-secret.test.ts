// What is kept of the Secret in the runtime's cluster, and what is written there.
import { Buffer } from "node:buffer";
import { expect, test } from "vitest";
import type { Secret, Stored } from "@keyturn/runtime";
import { EventingAuth } from "./api.ts";
import { credentialsIn, keepTargetSecret, ownershipOfTarget, type TargetContent, targetSecretObject } from "./target-secret.ts";

const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
const owner = { kind: EventingAuth, name: { namespace: "kcp-system", name: "runtime" } };
const endpoints = { issuer: "https://t", tokenUrl: "https://t/token", jwksUrl: "https://t/certs" };
const content: TargetContent = {
  place,
  owner,
  application: "application-1",
  endpoints,
  issuedAtMs: Date.parse("2026-02-03T04:05:06.007Z"),
  credentials: { type: "new", clientId: "client-1", clientSecret: "s3cret-s3cret", hint: "s3cr" },
};
const stored = { name: place.name, uid: "u", resourceVersion: "7" };

test("has the predecessor's four keys and its type", () => {
  const { type, data = {} } = targetSecretObject(content);
  expect(type).toBe("Opaque");
  expect(Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]))).toEqual({
    client_id: "client-1",
    client_secret: "s3cret-s3cret",
    token_url: "https://t/token",
    certs_url: "https://t/certs",
  });
});

test("what was written is recognised when it is read", () => {
  const object = targetSecretObject(content);
  const kept = keepTargetSecret({ ...object, metadata: { ...object.metadata, ...stored } });
  expect(kept).toMatchObject({ clientId: "client-1", tokenUrl: "https://t/token", certsUrl: "https://t/certs", issuedAtMs: content.issuedAtMs });
  expect(kept.noted).toEqual({ application: "application-1", hint: "s3cr", digest: kept.digest });
  expect(ownershipOfTarget(kept, owner)).toBe("ours");
  expect(ownershipOfTarget(kept, { ...owner, name: { namespace: "other", name: "runtime" } })).toBe("another");
  expect(credentialsIn(object)).toEqual({ clientId: "client-1", clientSecret: "s3cret-s3cret" });
});

test("no client secret is kept, not even the copy that kubectl makes", () => {
  const object = targetSecretObject(content);
  const lastApplied = { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(object) };
  const kept = keepTargetSecret({
    ...object,
    metadata: { ...object.metadata, ...stored, annotations: { ...object.metadata.annotations, ...lastApplied } },
  });
  expect(JSON.stringify(kept)).not.toContain("s3cret-s3cret");
  expect(JSON.stringify(kept)).not.toContain(Buffer.from("s3cret-s3cret").toString("base64"));
});

test("a Secret without our annotations was issued when it was made", () => {
  const kept = keepTargetSecret({ metadata: { ...stored, creationTimestamp: "2026-01-01T00:00:00Z" }, data: { client_id: "", client_secret: "" } });
  expect(kept).toMatchObject({ clientId: undefined, digest: undefined, issuedAtMs: Date.parse("2026-01-01T00:00:00Z") });
  expect(ownershipOfTarget(kept, owner)).toBe("foreign");
});

test("where the client secret is kept, it is not written", () => {
  const { data, metadata } = targetSecretObject({ ...content, credentials: { type: "kept", digest: "d", hint: undefined } });
  expect(Object.keys(data ?? {})).toEqual(["token_url", "certs_url"]);
  expect(Object.keys(metadata.annotations ?? {})).not.toContain("keyturn.io/secret-hint");
});

test.each([
  { data: null },
  { data: { client_secret: 5, client_id: {} } },
  { metadata: { ...stored, labels: null, annotations: 7 } },
  {
    metadata: {
      ...stored,
      labels: { "app.kubernetes.io/managed-by": [] },
      annotations: { "keyturn.io/issued-at": 9, "keyturn.io/application": null },
    },
  },
  { metadata: { ...stored, creationTimestamp: "never" } },
])("what has not the shape of a Secret has nothing of ours, and is dated for certain: %j", (odd) => {
  const kept = keepTargetSecret({ metadata: stored, ...odd } as Stored<Secret>);
  expect(kept).toMatchObject({ digest: undefined, clientId: undefined, issuedAtMs: 0, noted: { application: undefined, hint: undefined } });
  expect(ownershipOfTarget(kept, owner)).not.toBe("ours");
});
