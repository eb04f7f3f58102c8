// Which of several objects of one name has it.
import type { Stored } from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { EventingAuth, EventingAuthStatus } from "./api.ts";
import { holderOf } from "./name-holder.ts";

function auth(namespace: string, creationTimestamp: string, status?: EventingAuthStatus): Stored<EventingAuth> {
  return { metadata: { namespace, name: "runtime", uid: namespace, resourceVersion: "1", creationTimestamp }, spec: {}, ...(status && { status }) };
}

const made: EventingAuthStatus = { state: "NotReady", iasApplication: { name: "runtime", uuid: "1" } };

test("nobody, if there is none", () => {
  expect(holderOf([])).toBeUndefined();
});

test("the older one; of two of the same second, always the same one", () => {
  expect(holderOf([auth("b", "2026-01-02T00:00:00Z"), auth("a", "2026-01-03T00:00:00Z")])).toBe("b/runtime");
  expect(holderOf([auth("b", "2026-01-02T00:00:00Z"), auth("a", "2026-01-02T00:00:00Z")])).toBe("a/runtime");
  expect(holderOf([auth("a", "2026-01-02T00:00:00Z"), auth("b", "2026-01-02T00:00:00Z")])).toBe("a/runtime");
});

test("the one for which something was made, whatever their ages", () => {
  expect(holderOf([auth("a", "2026-01-01T00:00:00Z"), auth("b", "2026-01-02T00:00:00Z", made)])).toBe("b/runtime");
  const forgotten: EventingAuthStatus = { state: "NotReady", secret: { clusterId: "runtime", namespacedName: "x/y" } };
  expect(holderOf([auth("a", "2026-01-01T00:00:00Z"), auth("b", "2026-01-02T00:00:00Z", forgotten)])).toBe("b/runtime");
});
