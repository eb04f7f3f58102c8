// Objects typed as other libraries type them fit the runtime's kinds, and are written as the API server reads them.
import { expect, it } from "vitest";
import { NetworkPolicy } from "../kubernetes/generated/networking.k8s.io/v1.ts";
import type { ConfigMap } from "./builtin-kinds.ts";
import { defineKind, type Kind } from "./kind.ts";
import { type PlainObject, plainObject } from "./plain-object.ts";

/** As client-node declares its classes. */
class V1ObjectMeta {
  "creationTimestamp"?: Date;
  "labels"?: { [key: string]: string };
  "name"?: string;
  "namespace"?: string;
  "managedFields"?: { time?: Date; manager?: string }[];
}
class V1NetworkPolicy {
  "apiVersion"?: string;
  "kind"?: string;
  "metadata"?: V1ObjectMeta;
  "spec"?: { podSelector?: { matchLabels?: { [key: string]: string } }; ingress?: { _from?: { podSelector?: object }[] }[] };
}

const created = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 6));

it("makes times text and gives fields the names that the API server knows, in the types as well", () => {
  const policy: V1NetworkPolicy = {
    metadata: { name: "web", creationTimestamp: created, managedFields: [{ time: created, manager: "me" }] },
    spec: { podSelector: {}, ingress: [{ _from: [{ podSelector: {} }] }] },
  };
  const written: NetworkPolicy = plainObject(policy);
  const time = "2026-01-02T03:04:05.006Z";
  expect(written).toEqual({
    metadata: { name: "web", creationTimestamp: time, managedFields: [{ time, manager: "me" }] },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
  });
  const kind: Kind<PlainObject<V1NetworkPolicy>> = defineKind<PlainObject<V1NetworkPolicy>>(NetworkPolicy);
  const any: Kind = kind;
  expect(any.plural).toBe("networkpolicies");
});

it("leaves users' own names alone", () => {
  const map: ConfigMap = plainObject({ metadata: { name: "a", labels: { b: "c" } }, data: { _from: "me", other: "you" } });
  expect(map).toStrictEqual({ metadata: { name: "a", labels: { b: "c" } }, data: { _from: "me", other: "you" } });
});

it("refuses what could not be written", () => {
  expect(() => plainObject({ kind: "Pod" })).toThrow("an object of kind Pod without metadata cannot be written");
});
