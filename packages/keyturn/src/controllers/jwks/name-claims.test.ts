// Names: what is there decides first, then who asked first.
import { ConfigMap, type KubeObject, type Owner, Service } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { keyturn } from "../../feature/feature.ts";
import { JWKS, JWKSConfig } from "./api.ts";
import { claimKey, conflictsOf, type Rival } from "./name-claims.ts";

const owner: Owner = { kind: JWKSConfig, name: { namespace: "shop", name: "site" } };
const name = { namespace: "shop", name: "keys" };
const rival = (createdAt: string, kind: Owner["kind"] = JWKSConfig, rivalName = "other"): Rival => ({
  owner: { kind, name: { namespace: "shop", name: rivalName } },
  createdAt,
  claims: [claimKey({ kind: ConfigMap, name })],
});
const conflicts = (live: KubeObject | undefined, rivals: readonly Rival[] = []) =>
  conflictsOf([{ kind: ConfigMap, name, live }], { operator: keyturn, owner, createdAt: "2026-01-02T00:00:00Z", rivals });
const owned = (by: string): KubeObject => ({
  metadata: { ...name, labels: { "app.kubernetes.io/managed-by": "keyturn" }, annotations: { "keyturn.io/owner": by } },
});

describe("conflictsOf", () => {
  test("a free name is free, and what is ours is ours whoever else asks for it", () => {
    expect(conflicts(undefined)).toEqual([]);
    expect(conflicts(owned("jwksconfigs.keyturn.io/shop/site"), [rival("2020-01-01T00:00:00Z")])).toEqual([]);
  });

  test("what somebody else made is left alone", () => {
    expect(conflicts({ metadata: name })).toEqual(["ConfigMap keys was not made by this operator (no label app.kubernetes.io/managed-by=keyturn)"]);
    expect(conflicts(owned("jwksconfigs.keyturn.io/shop/other"))).toEqual(["ConfigMap keys belongs to another object"]);
  });

  test("a free name goes to the older object", () => {
    expect(conflicts(undefined, [rival("2026-01-01T00:00:00Z")])).toEqual(["ConfigMap keys is also wanted by JWKSConfig other, which is older"]);
    expect(conflicts(undefined, [rival("2026-01-03T00:00:00Z")])).toEqual([]);
  });

  test("of two of the same second exactly one gets it", () => {
    const createdAt = "2026-01-02T00:00:00Z";
    for (const other of [rival(createdAt), rival(createdAt, JWKSConfig, "a"), rival(createdAt, JWKS), rival(createdAt, JWKS, "site")]) {
      const mine = conflicts(undefined, [other]).length;
      const theirs = conflictsOf([{ kind: ConfigMap, name, live: undefined }], {
        operator: keyturn,
        owner: other.owner,
        createdAt,
        rivals: [{ owner, createdAt, claims: other.claims }],
      }).length;
      expect(mine + theirs).toBe(1);
    }
  });

  test("a rival for another name is none", () => {
    expect(conflicts(undefined, [{ ...rival("2020-01-01T00:00:00Z"), claims: [claimKey({ kind: Service, name })] }])).toEqual([]);
  });
});
