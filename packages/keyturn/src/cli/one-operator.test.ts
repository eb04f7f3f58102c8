// Beside whom an operator does not start. That it really does not is in test/cli/one-operator.test.ts.
import type { Lease, Stored } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { type Flag, readFlags } from "../feature/flag.ts";
import { leaseSummary } from "../feature/record.ts";
import { scopeAnnotations, type ServedScope } from "../feature/served-scope.ts";
import { features } from "../registry.ts";
import { leaseNamespaceOf, refusalOf, rivalsOf, servedScope } from "./one-operator.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");
const everything: ServedScope = { namespaces: [], skipNamespaces: [], selector: "", only: {} };

/** A Lease that is held in `other`, with these annotations, 15 s long. */
function held(
  annotations: Readonly<Record<string, string>>,
  { controller = "jwks", namespace = "other", renewTime = "2026-01-02T03:04:00.000000Z" } = {},
) {
  const lease: Stored<Lease> = {
    metadata: { namespace, name: `keyturn-${controller}`, uid: "u", resourceVersion: "1", annotations },
    spec: { holderIdentity: "web-0_0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10", leaseDurationSeconds: 15, renewTime },
  };
  return leaseSummary(lease, ["jwks", "rotation", "checksum"], nowMs) ?? [];
}

const starter = { leaseNamespace: "keyturn-system", leaderElect: true, scope: everything };
const isRefused = (own: Partial<ServedScope>, other: Partial<ServedScope>, controller = "jwks"): boolean =>
  rivalsOf({ ...starter, scope: { ...everything, ...own } }, [held(scopeAnnotations({ ...everything, ...other }), { controller })].flat()).length > 0;

it.each<[Partial<ServedScope>, Partial<ServedScope>]>([
  [{}, {}],
  [{}, { namespaces: ["shop"] }],
  [{}, { selector: "team=a" }],
  [{ namespaces: ["shop", "site"] }, { namespaces: ["site"] }],
  [{ skipNamespaces: ["shop"] }, { namespaces: ["shop", "site"] }],
  [{ selector: "team=a" }, { selector: "tier=front" }],
  [{ selector: "what a later release understands" }, { selector: "team=a" }],
  [{ only: { rotation: ["site"] } }, { namespaces: ["shop"] }],
])("%j and %j share objects, whoever is there first", (one, other) => {
  expect([isRefused(one, other), isRefused(other, one)]).toEqual([true, true]);
});

it.each<[Partial<ServedScope>, Partial<ServedScope>]>([
  [{ namespaces: ["shop"] }, { namespaces: ["site"] }],
  [{ skipNamespaces: ["shop"] }, { namespaces: ["shop"] }],
  [{ namespaces: ["shop", "site"], skipNamespaces: ["site"] }, { namespaces: ["site"] }],
  [{ selector: "installation!=b" }, { selector: "installation=b" }],
  [{ only: { jwks: ["site"] } }, { namespaces: ["shop"] }],
  [{ only: { jwks: ["site"] } }, { only: { jwks: ["shop"] } }],
  [{ namespaces: ["shop"], only: { jwks: ["site", "shop"] } }, { namespaces: ["site"] }],
])("%j and %j do not", (one, other) => {
  expect([isRefused(one, other), isRefused(other, one)]).toEqual([false, false]);
});

it("takes turns with those whose Leases are in the same namespace, unless it holds none", () => {
  const leases = [held(scopeAnnotations(everything), { namespace: "keyturn-system" })].flat();
  expect(rivalsOf(starter, leases)).toEqual([]);
  expect(rivalsOf({ ...starter, leaderElect: false }, leases)).toHaveLength(1);
});

it("starts beside Leases that ran out, and those that do not say what their holder serves", () => {
  const silent = held(scopeAnnotations(everything), { renewTime: "2026-01-02T03:03:49.000000Z" });
  const unclear = [{}, { "keyturn.io/serves": "{" }, { "keyturn.io/serves": "{}" }].flatMap((annotations) => held(annotations));
  expect(rivalsOf(starter, [silent, unclear].flat())).toEqual([]);
});

it("says who it is, what it leads and what to do", () => {
  const rivals = rivalsOf(starter, [held(scopeAnnotations(everything)), held(scopeAnnotations(everything), { controller: "rotation" })].flat());
  expect(refusalOf(rivals)).toBe(
    "another operator serves the same objects: web-0, with the Leases of jwks, rotation in namespace other; stop it, or take turns with it by --leader-elect-namespace other, or give the two different --namespaces or --selector (--allow-other-operators starts all the same)",
  );
  expect(refusalOf([])).toBeUndefined();
});

it("has its Leases where the installed one has them, and in a pod in the pod's own namespace", () => {
  const at = (leaderElectNamespace: string | undefined, source: string, namespace?: string): string =>
    leaseNamespaceOf({ leaderElectNamespace }, { source, ...(namespace !== undefined && { namespace }) });
  expect(at(undefined, "/home/me/.kube/config", "shop")).toBe("keyturn-system");
  expect(at(undefined, "/home/me/.kube/config")).toBe("keyturn-system");
  expect(at(undefined, "in-cluster", "mine")).toBe("mine");
  expect(at("asked", "in-cluster", "mine")).toBe("asked");
});

it("says what its flags say", () => {
  const given = { "checksum.namespaces": "gateway", selector: "team=a", "skip-namespaces": "shop" };
  const flag = <T>(each: Flag<T>): T => readFlags({ flag: each }, given, {}).flag;
  const scope = servedScope(features, { namespaces: ["gateway"], skipNamespaces: ["shop"] }, flag);
  expect(scope).toEqual({
    namespaces: ["gateway"],
    skipNamespaces: ["shop"],
    selector: "team=a",
    only: { checksum: ["gateway"], "checksum-ingress": ["gateway"] },
  });
});
