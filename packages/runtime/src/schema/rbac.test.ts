// Declared access as RBAC: merged, sorted, no more than was declared, and in the right place.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccessRule, Verb } from "../controller/controller.ts";
import { installationKeyAccess } from "../manager/installation-key.ts";
import { managerAccess, policyRules, rbacObjects } from "./rbac.ts";
import { yamlDocuments } from "./crd.ts";

const secrets = { group: "", plural: "secrets", namespaced: true };
const configMaps = { group: "", plural: "configmaps", namespaced: true };
const widgets = { group: "example.com", plural: "widgets", namespaced: true };
const nodes = { group: "", plural: "nodes", namespaced: false };
const why = "for the test";

const access: readonly AccessRule[] = [
  { kind: widgets, verbs: ["watch", "list", "get"], why },
  { kind: widgets, verbs: ["patch"], subresource: "status", why },
  { kind: secrets, verbs: ["list", "watch"], why },
  { kind: secrets, verbs: ["get"], why },
  { kind: configMaps, verbs: ["get", "list", "watch"], why },
  { kind: secrets, verbs: ["get", "patch"], resourceNames: ["b", "a"], why },
  { kind: nodes, verbs: ["get"], why },
];

describe("policyRules", () => {
  test("merges and sorts, and drops names where the right is there for all", () => {
    expect(policyRules(access)).toEqual([
      { apiGroups: [""], resources: ["configmaps", "secrets"], verbs: ["get", "list", "watch"] },
      { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["a", "b"], verbs: ["patch"] },
      { apiGroups: ["example.com"], resources: ["widgets"], verbs: ["get", "list", "watch"] },
      { apiGroups: ["example.com"], resources: ["widgets/status"], verbs: ["patch"] },
    ]);
  });

  test("refuses names where RBAC does not look at them", () => {
    expect(() => policyRules([{ kind: secrets, verbs: ["create", "get"], resourceNames: ["a"], why }])).toThrow(
      "cannot limit create of secrets to names",
    );
    expect(() => policyRules([{ kind: secrets, verbs: ["get"], resourceNames: [], why }])).toThrow("names no object");
  });

  test("grants exactly what was declared, in any order of declaration", () => {
    const kinds = fc.constantFrom(secrets, configMaps, widgets, nodes);
    const verbs = fc.uniqueArray(fc.constantFrom<Verb>("get", "update", "patch", "delete"), { minLength: 1 });
    const names = fc.option(fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }), { nil: undefined });
    const rule = fc
      .record({ kind: kinds, verbs, names })
      .map(({ kind, verbs, names }): AccessRule => (names ? { kind, verbs, why, resourceNames: names } : { kind, verbs, why }));
    fc.assert(
      fc.property(fc.array(rule), (rules) => {
        const declared = new Set(
          rules.flatMap((each) =>
            each.verbs.flatMap((verb) => (each.resourceNames ?? ["*"]).map((name) => [each.kind.group, each.kind.plural, verb, name].join())),
          ),
        );
        const granted = new Set(
          policyRules(rules).flatMap(({ apiGroups, resources, verbs: allowed, resourceNames = ["*"] }) =>
            resources.flatMap((resource) => allowed.flatMap((verb) => resourceNames.map((name) => [apiGroups[0], resource, verb, name].join()))),
          ),
        );
        const covers = (set: ReadonlySet<string>, right: string): boolean => set.has(right) || set.has(right.replace(/[^,]*$/, "*"));
        expect([...granted].filter((right) => !declared.has(right))).toEqual([]);
        expect([...declared].filter((right) => !covers(granted, right))).toEqual([]);
        expect(policyRules(rules.toReversed())).toEqual(policyRules(rules));
      }),
    );
  });
});

describe("rbacObjects", () => {
  const options = { name: "op", serviceAccount: { namespace: "system", name: "op" } };

  test.each([[[]], [["shop"]]])("a right in one namespace is granted there and nowhere else, with the operator limited to %j", (namespaces) => {
    const objects = rbacObjects({
      ...options,
      namespaces,
      access: [
        { kind: widgets, verbs: ["list"], why },
        { kind: secrets, verbs: ["get"], namespace: "vault", why },
      ],
    });
    const granting = objects.filter((object) => "rules" in object && object.rules.some(({ resources }) => resources.includes("secrets")));
    expect(granting.map(({ kind, metadata }) => [kind, metadata.namespace])).toEqual([["Role", "vault"]]);
  });

  test("is one ClusterRole when the operator works everywhere, and Leases stay in its own namespace", () => {
    const own = managerAccess({ operatorNamespace: "system", controllerAccess: access });
    const objects = rbacObjects({ ...options, access: [...access, ...own.access], accessIn: own.accessIn });
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}`)).toEqual([
      "ClusterRole ",
      "ClusterRoleBinding ",
      "Role system",
      "RoleBinding system",
    ]);
    expect(yamlDocuments(objects)).toMatchInlineSnapshot(`
      "apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata:
        name: op
      rules:
      - apiGroups:
        - ""
        resources:
        - configmaps
        - secrets
        verbs:
        - get
        - list
        - watch
      - apiGroups:
        - ""
        resources:
        - nodes
        verbs:
        - get
      - apiGroups:
        - ""
        resources:
        - secrets
        resourceNames:
        - a
        - b
        verbs:
        - patch
      - apiGroups:
        - events.k8s.io
        resources:
        - events
        verbs:
        - create
        - patch
      - apiGroups:
        - example.com
        resources:
        - widgets
        verbs:
        - get
        - list
        - watch
      - apiGroups:
        - example.com
        resources:
        - widgets/status
        verbs:
        - patch
      ---
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRoleBinding
      metadata:
        name: op
      roleRef:
        apiGroup: rbac.authorization.k8s.io
        kind: ClusterRole
        name: op
      subjects:
      - kind: ServiceAccount
        namespace: system
        name: op
      ---
      apiVersion: rbac.authorization.k8s.io/v1
      kind: Role
      metadata:
        name: op
        namespace: system
      rules:
      - apiGroups:
        - coordination.k8s.io
        resources:
        - leases
        verbs:
        - get
        - create
        - update
      ---
      apiVersion: rbac.authorization.k8s.io/v1
      kind: RoleBinding
      metadata:
        name: op
        namespace: system
      roleRef:
        apiGroup: rbac.authorization.k8s.io
        kind: Role
        name: op
      subjects:
      - kind: ServiceAccount
        namespace: system
        name: op
      "
    `);
  });

  test("is a Role per namespace when the operator is limited, with a ClusterRole for cluster-scoped kinds alone", () => {
    const own = managerAccess({ operatorNamespace: "system", controllerAccess: access });
    const objects = rbacObjects({ ...options, access: [...access, ...own.access], accessIn: own.accessIn, namespaces: ["shop", "web"] });
    const roles = objects.flatMap((object) =>
      "rules" in object ? [`${object.metadata.namespace ?? "cluster"}: ${object.rules.flatMap(({ resources }) => resources).join(" ")}`] : [],
    );
    expect(roles).toMatchInlineSnapshot(`
      [
        "cluster: nodes",
        "default: events",
        "shop: configmaps secrets secrets events widgets widgets/status",
        "system: leases",
        "web: configmaps secrets secrets events widgets widgets/status",
      ]
    `);
  });

  test("gives what is for the operator's own namespace there alone, by name where that can be", () => {
    const objects = rbacObjects({ ...options, access: installationKeyAccess({ name: "op", domain: "op.example" }), namespaces: ["shop"] });
    const roles = objects.flatMap((object) => ("rules" in object ? [[object.metadata.namespace, object.rules]] : []));
    expect(roles).toEqual([
      [
        "system",
        [
          { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
          { apiGroups: [""], resources: ["secrets"], resourceNames: ["op-installation-key"], verbs: ["get"] },
        ],
      ],
    ]);
  });

  test("makes nothing for nothing", () => {
    expect(rbacObjects({ ...options, access: [] })).toEqual([]);
  });
});
