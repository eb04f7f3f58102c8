import { expect, it } from "vitest";
import { type InventoryRow, renderInventory } from "./inventory.ts";

const row: InventoryRow = { kind: "Secret", namespace: "shop", name: "signer", ready: "-", detail: "kubernetes.io/tls", createdMs: 0 };

it("shows what there is at a glance", () => {
  expect(renderInventory([row], 61_000)).toMatchInlineSnapshot(`
    "KIND     NAMESPACE   NAME     READY   DETAIL              AGE
    Secret   shop        signer   -       kubernetes.io/tls   61s"
  `);
});
