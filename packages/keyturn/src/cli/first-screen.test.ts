// The first screen as people see it, on a terminal of 80 columns and 24 lines and on others.
import { describe, expect, it } from "vitest";
import { Terminal } from "../../test/terminal.ts";
import { features } from "../registry.ts";
import { nowMs, report, statusWith } from "../status/credential-status.fixture.ts";
import { plain } from "../text.ts";
import { type FirstScreen, firstScreenText, happeningText } from "./first-screen.ts";
import { LiveText } from "./output.ts";

const address = `http://127.0.0.1:41199#secret=${"s".repeat(43)}`;
const long = "a text that is much longer than any line of a terminal that people have in front of them, such as a message of a condition";

const screen: FirstScreen = {
  address,
  isOpen: false,
  features,
  commands: ["export KUBECONFIG=/tmp/keyturn-cluster-abc/admin.kubeconfig", "bin/keyturn status -A"],
  happenings: Array.from({ length: 40 }, (_, index) => ({ atMs: nowMs - (40 - index) * 1000, text: `happening ${index}, ${long}` })),
  status: statusWith({
    issue: [report({ kind: "EventingAuth", name: "one" })],
    rotate: [report({ name: "signing-key-live", health: "progressing", next: { atMs: nowMs + 12_000, what: "gets version 3" } })],
    publish: [report({ kind: "JWKSConfig", name: "tokens", health: "progressing", message: `nginx is being rolled out, ${long}` })],
    verify: [
      report({ kind: "SecretCheckSum", name: "set" }),
      report({ kind: "SecretCheckSum", name: "bad", health: "failed", message: "is damaged" }),
    ],
    "roll out": [
      report({
        kind: "Deployment",
        name: "web",
        health: "progressing",
        message: "2 of 3 pods are new",
        next: { atMs: nowMs + 1, what: "counts as stuck" },
      }),
    ],
  }),
};

describe.each([
  [80, 24],
  [120, 40],
  [60, 16],
])("on a terminal of %ix%i", (columns, rows) => {
  it("is one screen whose first line is the page's address, with nothing scrolled away, however often it is drawn", async () => {
    const terminal = new Terminal(columns, rows);
    const text = new LiveText({ write: terminal.write, height: () => terminal.rows, width: () => terminal.columns });
    for (let round = 0; round < 5; round++)
      text.show(firstScreenText({ ...screen, happenings: screen.happenings.slice(0, 10 * round) }, rows, plain), "");
    const { gone, shown } = await terminal.lines();
    expect(gone).toEqual([]);
    expect(shown[0]).toBe(columns >= address.length ? address : `${address.slice(0, columns - 1)}…`);
    expect(shown[1]).toContain("Ctrl-C");
    expect(shown.length).toBeLessThan(rows);
  });
});

it("says of each stage what it does now, the newest of what happened, and what to try", () => {
  expect(firstScreenText({ ...screen, happenings: screen.happenings.map(({ atMs }) => ({ atMs, text: "something" })).slice(-4) }, 24, plain))
    .toMatchInlineSnapshot(`
    "http://127.0.0.1:41199#secret=sssssssssssssssssssssssssssssssssssssssssss
    open this page in a browser; Ctrl-C here stops everything

    THE LIFE OF A CREDENTIAL
      issue     ✓ 1 runtime, as it should be
      rotate    → signing-key-live gets version 3 in 12s
      publish   → tokens: nginx is being rolled out, a text that is much longer than any line of a terminal that people have in front of them, such as a message of a condition
      verify    ! bad: is damaged
      roll out  → web: 2 of 3 pods are new

    WHAT HAPPENED
        4s ago  something
        3s ago  something
        2s ago  something
        1s ago  something

    TRY, in another terminal
      export KUBECONFIG=/tmp/keyturn-cluster-abc/admin.kubeconfig
      bin/keyturn status -A"
  `);
});

it("counts targets where several of them are about one rotation set", () => {
  const status = statusWith({ rotate: [report({ name: "signing-key-live" }), report({ name: "signing-key-fallback" })] });
  expect(firstScreenText({ ...screen, status, happenings: [] }, 24, plain)).toMatch(/rotate +✓ 2 rotation targets, all as they should be/);
});

it("never says that all is well where that is not known", () => {
  const failing = { resource: "rotationtargets.x", reason: "failing", message: "the API server has been silent for too long" } as const;
  const status = statusWith(
    { rotate: [report()], publish: [report({ kind: "JWKSConfig" })] },
    { rotate: { unread: [failing] }, publish: { leases: [] } },
  );
  const text = firstScreenText({ ...screen, status, happenings: [] }, 24, plain);
  expect(text).toMatch(/rotate +\? rotationtargets\.x cannot be read/);
  expect(text).toMatch(/publish +\? no leader: there is no Lease of an operator/);
  expect(text).toContain("nothing yet");
});

it.each([
  [
    { reason: "VersionRotated", name: "signing-key-live", note: "version 3 has taken the place of version 2" },
    "signing-key-live moved on to version 3 of the key",
  ],
  [
    { reason: "SecretIssued", name: "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10", note: "x" },
    "runtime 0b5e3c2a got its first credentials, in its own cluster",
  ],
  [{ reason: "ChecksumPublished", name: "secret-abc", note: "x" }, "the certificates of shop are published as one set; gateways may adopt it"],
  [{ reason: "PathNotFound", name: "x", note: "y" }, undefined],
])("%j is told as %j", (event, text) => {
  expect(happeningText({ namespace: "shop", ...event })).toBe(text);
});

it("knows only reasons that there are", () => {
  const reasons = new Set(features.flatMap(({ reasons }) => Object.keys(reasons)));
  const told = [...reasons].filter((reason) => happeningText({ namespace: "a", name: "b", reason, note: "version 2 has" }) !== undefined);
  expect(told.toSorted()).toMatchInlineSnapshot(`
    [
      "ApplicationCreated",
      "ChecksumPublished",
      "CredentialRestart",
      "CredentialRolloutFinished",
      "KeyAdded",
      "KeyRemoved",
      "KeyRetired",
      "SecretIssued",
      "SecretRepaired",
      "SecretRotated",
      "SidecarRestart",
      "SidecarRolloutFinished",
      "VersionFilled",
      "VersionRotated",
    ]
  `);
});
