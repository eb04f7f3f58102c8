import { describe, expect, it } from "vitest";
import type { InventoryRow } from "./inventory.ts";
import { LiveTable, renderInventory } from "./live-table.ts";

const row: InventoryRow = { kind: "Secret", namespace: "shop", name: "signer", ready: "-", detail: "kubernetes.io/tls", createdMs: 0 };

it("shows what there is at a glance", () => {
  expect(renderInventory([row], 61_000)).toMatchInlineSnapshot(`
    "KIND     NAMESPACE   NAME     READY   DETAIL              AGE
    Secret   shop        signer   -       kubernetes.io/tls   61s"
  `);
});

describe("LiveTable", () => {
  it("draws over itself on a terminal", () => {
    const written: string[] = [];
    const table = new LiveTable((text) => written.push(text), true);
    table.show([row], 0);
    table.show([row], 1000);
    expect(written[1]?.startsWith("\u001b[2A\u001b[J")).toBe(true);
  });

  it("writes to a file only when something but the age has changed", () => {
    const written: string[] = [];
    const table = new LiveTable((text) => written.push(text), false);
    table.show([row], 0);
    table.show([row], 1000);
    table.show([{ ...row, ready: "True" }], 2000);
    expect(written).toHaveLength(2);
  });
});
