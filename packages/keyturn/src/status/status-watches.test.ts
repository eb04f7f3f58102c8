import { expect, it } from "vitest";
import { changesOf } from "./status-watches.ts";
import { statusWith, nowMs, report } from "./credential-status.fixture.ts";

const before = statusWith({ rotate: [report({ name: "a" }), report({ name: "b" })], publish: [report({ kind: "JWKS", name: "a" })] });

function changes(...args: Parameters<typeof changesOf>): readonly string[] {
  return changesOf(...args).flatMap((change) =>
    "report" in change ? [`${change.type} ${change.step} ${change.report.ref.kind} ${change.report.ref.name}`] : [],
  );
}

it("says everything at first", () => {
  expect(changes(undefined, before)).toEqual(["added rotate RotationTarget a", "added rotate RotationTarget b", "added publish JWKS a"]);
});

it("says what came, went and fares differently, and not what only grew older", () => {
  const after = statusWith({
    rotate: [report({ name: "a", health: "failed", reason: "NameConflict" }), report({ name: "c" })],
    publish: [report({ kind: "JWKS", name: "a", sinceMs: nowMs })],
  });
  expect(changes(before, after)).toEqual(["changed rotate RotationTarget a", "added rotate RotationTarget c", "removed rotate RotationTarget b"]);
  expect(changes(before, before)).toEqual([]);
});

it("says what can no longer be read, and can again, whatever the words of the failure", () => {
  const failing = (message: string) => ({ resource: "rotationtargets.a", reason: "failing", message }) as const;
  const broken = statusWith({}, { rotate: { unread: [failing("reset")] } });
  const unread = (...args: Parameters<typeof changesOf>) => changesOf(...args).filter(({ type }) => type === "unread");
  expect(unread(statusWith({}), broken)).toEqual([{ type: "unread", step: "rotate", unread: [failing("reset")] }]);
  expect(unread(broken, statusWith({}, { rotate: { unread: [failing("timed out")] } }))).toEqual([]);
  expect(unread(broken, statusWith({}))).toEqual([{ type: "unread", step: "rotate", unread: [] }]);
  const leasesUnread = statusWith({}, {}, failing("reset"));
  expect(unread(statusWith({}), leasesUnread)).toEqual([{ type: "unread", step: undefined, unread: [failing("reset")] }]);
});

it("says when others lead, or nobody, and not that a Lease was renewed", () => {
  const led = (holder: string, state: "held" | "expired", renewedMs: number) =>
    statusWith({}, { rotate: { leases: [{ controller: "rotation", namespace: "ops", holder, state, renewedMs, acquiredMs: 0 }] } });
  const leaders = (...args: Parameters<typeof changesOf>) => changesOf(...args).flatMap((change) => (change.type === "leaders" ? [change.step] : []));
  expect(leaders(led("a", "held", 1), led("a", "held", 2))).toEqual([]);
  expect(leaders(led("a", "held", 1), led("b", "held", 2))).toEqual(["rotate"]);
  expect(leaders(led("a", "held", 1), led("a", "expired", 1))).toEqual(["rotate"]);
});
