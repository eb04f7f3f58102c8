// One EventingAuth for every Kyma that is there to stay.
import type { OwnerReference, Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { EventingAuth } from "./api.ts";
import { newEventingAuth, planKyma } from "./kyma.ts";

const kyma = { name: "runtime", uid: "kyma-uid", beingDeleted: false };
const owner: OwnerReference = {
  apiVersion: "operator.kyma-project.io/v1beta2",
  kind: "Kyma",
  name: "runtime",
  uid: "kyma-uid",
  controller: true,
  blockOwnerDeletion: true,
};

function auth(ownerReferences: readonly OwnerReference[], deletionTimestamp?: string): Stored<EventingAuth> {
  const metadata = { name: "runtime", uid: "u", resourceVersion: "1", ownerReferences, ...(deletionTimestamp && { deletionTimestamp }) };
  return { metadata, spec: {} };
}

const other: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "x" };

test("is created for a Kyma, with its finalizer and owner", () => {
  expect(planKyma(kyma, undefined)).toEqual({ type: "create", ownerReference: owner });
  expect(newEventingAuth({ namespace: "n", name: "runtime" }, owner).metadata).toMatchObject({
    finalizers: ["eventingauth.operator.kyma-project.io/finalizer"],
    ownerReferences: [owner],
  });
});

test("is not created for a Kyma that is being deleted, nor while the one before it goes", () => {
  expect(planKyma({ ...kyma, beingDeleted: true }, undefined)).toEqual({ type: "nothing" });
  expect(planKyma(kyma, auth([owner], "2026-01-01T00:00:00Z"))).toEqual({ type: "nothing" });
});

test("keeps its owner, and gets it back; owners that do not control stay", () => {
  expect(planKyma(kyma, auth([other, owner]))).toEqual({ type: "nothing" });
  expect(planKyma(kyma, auth([other]))).toEqual({ type: "own", ownerReferences: [other, owner] });
  const stale = { ...owner, apiVersion: "operator.kyma-project.io/v1beta1" };
  expect(planKyma(kyma, auth([stale, other]))).toEqual({ type: "own", ownerReferences: [other, owner] });
  expect(planKyma(kyma, auth([{ ...owner, uid: "the one before" }]))).toEqual({ type: "own", ownerReferences: [owner] });
});

test("goes when its Kyma has gone, but not if it never had one", () => {
  expect(planKyma(undefined, auth([owner]))).toEqual({ type: "delete" });
  expect(planKyma(undefined, auth([other]))).toEqual({ type: "nothing" });
  expect(planKyma(undefined, auth([]))).toEqual({ type: "nothing" });
  expect(planKyma(undefined, undefined)).toEqual({ type: "nothing" });
});
