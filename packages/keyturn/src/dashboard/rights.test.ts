// What rights allow.
import { expect, it } from "vitest";
import { rightsOf, unlimitedRights } from "./rights.ts";

it("allows what is granted, and is the same for the same grants", () => {
  const rights = rightsOf(
    new Map<string, "everywhere" | ReadonlySet<string>>([
      ["secrets", new Set(["b", "a"])],
      ["pods", "everywhere"],
    ]),
  );
  const same = rightsOf(
    new Map<string, "everywhere" | ReadonlySet<string>>([
      ["pods", "everywhere"],
      ["secrets", new Set(["a", "b"])],
    ]),
  );
  expect(rights.signature).toBe(same.signature);
  expect(rights.signature).not.toBe(rightsOf(new Map()).signature);
  const places = ["secrets a", "secrets c", "pods c", "leases a"].map((text) => ({
    resource: text.split(" ")[0] ?? "",
    namespace: text.split(" ")[1] ?? "",
  }));
  expect(places.map((place) => rights.allows(place))).toEqual([true, false, true, false]);
  expect(["secrets", "pods", "leases"].map((resource) => rights.hides(resource))).toEqual([false, false, true]);
  expect(unlimitedRights.allows({ resource: "x", namespace: "y" })).toBe(true);
});
