// Announced ahead: a batch of changes is adopted as one, whatever happens on the way.
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Namespace, ownedWriter, type Secret } from "@keyturn/runtime";
import type { RunningOperator } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { inParts } from "../../packages/keyturn/src/controllers/checksum/announce.ts";
import { confirmationOf, readSigningKey } from "../../packages/keyturn/src/controllers/checksum/announcement.ts";
import { announcementObjects, refuseOddTime } from "../../packages/keyturn/src/controllers/checksum/announcement-objects.ts";
import { named } from "../../packages/keyturn/src/controllers/checksum/check-sum-object.ts";
import { MemberSet } from "../../packages/keyturn/src/controllers/checksum/members.ts";
import { keyturn as keyturnOperator } from "../../packages/keyturn/src/feature/feature.ts";
import { runProgram } from "../../packages/keyturn/src/cli/program.ts";
import { runShell } from "../support/shell-block.ts";
import { startTengineReader } from "./tengine-reader.ts";
import { certificate, IngressCheckSum, SecretCheckSum, type VerifiedNamespace, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();
const program = fileURLToPath(new URL("../../bin/keyturn", import.meta.url));

interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the program in this process. */
async function keyturn(...args: readonly string[]): Promise<Finished> {
  const output = { out: "", err: "" };
  const code = await runProgram(args, {
    environment: {},
    out: (text) => (output.out += text),
    err: (text) => (output.err += text),
    height: () => undefined,
    signal: new AbortController().signal,
  });
  return { code, ...output };
}

/** The files of a new pair: to sign with, and to check signatures with. They go with the test. */
async function signingKeys(onTestFinished: (remove: () => Promise<void>) => void): Promise<{ readonly signing: string; readonly checking: string }> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-keys-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [signing, checking] = [join(folder, "private.pem"), join(folder, "public.pem")];
  await writeFile(signing, privateKey.export({ format: "pem", type: "pkcs8" }));
  await writeFile(checking, publicKey.export({ format: "pem", type: "spki" }));
  return { signing, checking };
}

/** Runs `keyturn checksum announce` as an administrator does, with the manifests in a folder. */
async function announce(place: VerifiedNamespace, manifests: readonly (Secret | string)[], ...args: readonly string[]): Promise<Finished> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-announce-"));
  try {
    for (const [index, manifest] of manifests.entries()) {
      await writeFile(join(folder, `${index}.yaml`), typeof manifest === "string" ? manifest : JSON.stringify(manifest));
    }
    return await keyturn("checksum", "announce", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, "-f", folder, ...args);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Why its checksums are or are not the current one. */
async function currentReasons(place: VerifiedNamespace): Promise<readonly (string | undefined)[]> {
  return (await place.checksums()).map(({ status }) => status?.conditions?.find(({ type }) => type === "Current")?.reason);
}

/** Starts an operator where there are two Secrets, which are published together. */
async function startWithTwo(place: VerifiedNamespace): Promise<RunningOperator> {
  await place.putSecret("shop-7", 1, certificate(0));
  await place.putSecret("bank-8", 1, certificate(1));
  const operator = await place.startOperator();
  await place.published(["7-1", "8-1"]);
  return operator;
}

/** Removes Secrets while no operator looks, so that it sees all of them go at once. */
async function removeAtOnce(
  place: VerifiedNamespace,
  names: readonly string[],
  ...options: Parameters<VerifiedNamespace["startOperator"]>
): Promise<RunningOperator> {
  await place.operators.at(-1)?.stop();
  for (const name of names) await place.removeSecret(name);
  return place.startOperator(...options);
}

test("a change that was announced never shows as a mismatch in a reader with Tengine's rules", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "ahead");
  using reader = await startTengineReader(cluster(), place.namespace);
  await startWithTwo(place);
  await soon(() => expect(reader.check()).toBe("pass"));
  reader.forget();
  for (const version of [2, 3, 4]) {
    const next = place.secret("shop-7", version, certificate(version));
    expect(await announce(place, [next])).toMatchObject({ code: 0, err: "" });
    const [announced] = await place.checksums();
    expect(announced?.spec.announcement).toBeDefined();
    // The reader must have heard of it, as whoever writes the batch should see to.
    await soon(() => expect(reader.trusts(announced?.metadata.name ?? "")).toBe(true));
    await place.put(next);
    await place.published([`7-${version}`, "8-1"]);
    expect(await place.condition(announced?.metadata.name ?? "", "Current")).toBe("True Reached");
  }
  await soon(() => expect(reader.ids().some((id) => id.startsWith("7-4-"))).toBe(true));
  expect(reader.verdicts.filter((verdict) => verdict !== "pass")).toEqual([]);
});

test("while a batch is being written nothing else is published; it counts as soon as it is complete", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "batch");
  const operator = await startWithTwo(place);
  const [base] = await place.checksums();
  const batch = [place.secret("shop-7", 2, certificate(2)), place.secret("new-9", 1, certificate(3))];
  const { code, out } = await announce(place, batch, "--delete", "secret/bank-8");
  expect([code, out]).toEqual([0, expect.stringMatching(/^announced SecretCheckSum secret-\w+ .* of 2, 2 new and 2 gone; write them within 10m/)]);
  const [first, second] = batch;
  await place.put(first ?? expect.fail());
  await soon(async () =>
    expect(await operator.metrics()).toContain(`keyturn_checksum_awaited{kind="SecretCheckSum",namespace="${place.namespace}"} 1`),
  );
  await soon(async () => expect(await place.condition(base?.metadata.name ?? "", "Current")).toBe("False BatchAnnounced"));
  await place.put(second ?? expect.fail());
  expect((await place.checksums()).map(({ spec }) => spec.count)).toEqual([2, 2]);
  await place.removeSecret("bank-8");
  const { metadata, status } = await place.published(["7-2", "9-1"]);
  expect(status?.reached).toBeDefined();
  expect(await place.eventSays(metadata.name, "AnnouncementReached")).toBe("the announced state is there");
  expect((await place.checksums()).map((checksum) => checksum.metadata.name)).toEqual([metadata.name, base?.metadata.name]);
  await place.putSecret("new-9", 2, certificate(4));
  await place.published(["7-2", "9-2"]);
});

test("a batch that is never finished: when its time is over, what is there is published", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "unfinished");
  await startWithTwo(place);
  const batch = [place.secret("shop-7", 2, certificate(2)), place.secret("bank-8", 2, certificate(3))];
  const { out } = await announce(place, batch, "--expires", "3s");
  const [, announced = expect.fail(out)] = /^announced SecretCheckSum (secret-\w+) /.exec(out) ?? [];
  await place.putSecret("shop-7", 2, certificate(2));
  await place.published(["7-2", "8-1"]);
  expect((await place.checksums()).map(({ metadata }) => metadata.name)).not.toContain(announced);
  expect(await place.eventSays(announced, "AnnouncementExpired")).toContain("did not come in time");
});

test("an operator that dies in the middle of a batch goes on where it was", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "crash");
  const before = await startWithTwo(place);
  await announce(place, [place.secret("shop-7", 2, certificate(2)), place.secret("bank-8", 2, certificate(3))]);
  await place.putSecret("shop-7", 2, certificate(2));
  await before.stop();
  const after = await place.startOperator();
  await soon(async () => expect(await after.metrics()).toContain(`keyturn_checksum_awaited{kind="SecretCheckSum",namespace="${place.namespace}"} 1`));
  expect(await place.checksums()).toHaveLength(2);
  await after.stop();
  await place.putSecret("bank-8", 2, certificate(3));
  await place.startOperator();
  await place.published(["7-2", "8-2"]);
  expect(await place.checksums()).toHaveLength(2);
});

test("what cannot be announced is refused in words, and nothing is published", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "refused");
  await startWithTwo(place);
  const next = place.secret("shop-7", 2, certificate(2));
  const same = await announce(place, [place.secret("shop-7", 1, certificate(0))]);
  expect(same).toMatchObject({ code: 0, out: expect.stringContaining("nothing changes for SecretCheckSum") });
  expect(await announce(place, ["kind: ConfigMap\nmetadata: {name: a}\n"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("no Secret and no Ingress"),
  });
  const key = next.data?.["tls.key"] ?? "";
  const unreadable = await announce(place, [`kind: Secret\nmetadata: {name: a-1}\ndata:\n  tls.key: ${key}\n tls.crt: [`]);
  expect(unreadable.code).toBe(1);
  expect(unreadable.err).toMatch(/^keyturn: cannot read .*0\.yaml: it is not valid YAML at line \d+/);
  expect(unreadable.err).not.toContain(key.slice(0, 20));
  expect(await place.checksums()).toHaveLength(1);
  expect((await announce(place, [next])).code).toBe(0);
  expect(await announce(place, [next])).toMatchObject({
    code: 1,
    err: expect.stringContaining("is announced, still awaited, and about the same objects"),
  });
  expect((await announce(place, [place.secret("shop-7", 3, certificate(3))], "--force")).code).toBe(0);
  expect(await announce(place, [{ ...next, type: "Opaque", metadata: { ...next.metadata, name: "other-9" } }])).toMatchObject({
    code: 1,
    err: expect.stringContaining("nothing of what was given counts, so nothing is announced: other-9"),
  });
  expect(
    await keyturn("checksum", "announce", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, "--delete", "secret/typo-9"),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining("nothing of what was given counts, so nothing is announced: typo-9 (there is no such object"),
  });
});

test("checksums of times that are far ahead, or are none, hold up neither the operator nor an announcer", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "odd-times");
  const { namespace } = place;
  await startWithTwo(place);
  const owner = { kind: Namespace, name: { name: namespace } };
  const { signal } = new AbortController();
  const writer = ownedWriter({ client: cluster().client, operator: keyturnOperator, controller: "test", owner, signal });
  for (const timestamp of ["9999-12-31T23:59:59Z", "2026-01-01T00:00:00,5Z"])
    await writer.apply(SecretCheckSum, named(namespace, "secret", { timestamp, checksum: "0".repeat(32), count: 0 }), { seen: "absent" });
  const renewed = place.secret("bank-8", 2, certificate(4));
  await soon(async () => expect(await announce(place, [renewed])).toMatchObject({ code: 0 }));
  await place.put(renewed);
  await soon(async () => expect(await currentReasons(place)).toContain("Reached"));
  await place.putSecret("shop-7", 2);
  await soon(async () => {
    const newest = (await place.checksums()).find(({ spec }) => spec.ids?.[0]?.startsWith("7-2-") === true);
    expect(newest?.status?.conditions?.find(({ type }) => type === "Current")).toMatchObject({ status: "True", reason: "Published" });
  });
});

test("two who announce at once both succeed, and so does a renewal in between", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "both");
  await startWithTwo(place);
  await place.putSecret("idle-9", 1, certificate(4));
  await place.published(["7-1", "8-1", "9-1"]);
  const [first, second] = [place.secret("shop-7", 2, certificate(2)), place.secret("bank-8", 2, certificate(3))];
  expect((await announce(place, [first])).code).toBe(0);
  const waiting = announce(place, [second], "--wait");
  await soon(async () => expect((await place.checksums()).filter(({ spec }) => spec.announcement)).toHaveLength(2));
  await place.putSecret("idle-9", 2, certificate(5));
  await place.published(["7-1", "8-1", "9-2"]);
  await place.put(second);
  expect(await waiting).toMatchObject({ code: 0, out: expect.stringContaining("the announced state is there") });
  await place.published(["7-1", "8-2", "9-2"]);
  await place.put(first);
  await place.published(["7-2", "8-2", "9-2"]);
});

test("a batch that is announced while another is half-written lets no half of that one through", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "half");
  using reader = await startTengineReader(cluster(), place.namespace);
  await startWithTwo(place);
  await place.putSecret("idle-9", 1, certificate(4));
  const base = await place.published(["7-1", "8-1", "9-1"]);
  const [first, second] = [place.secret("shop-7", 2, certificate(2)), place.secret("bank-8", 2, certificate(3))];
  expect((await announce(place, [first, second])).code).toBe(0);
  await place.put(first);
  await soon(async () => expect(await place.condition(base.metadata.name, "Current")).toBe("False BatchAnnounced"));
  const access = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
  expect(await keyturn("checksum", "allow", ...access)).toMatchObject({ code: 1, err: expect.stringContaining("is announced and half-written") });
  const other = place.secret("idle-9", 2, certificate(5));
  expect((await announce(place, [other])).code).toBe(0);
  await place.put(other);
  await soon(async () => expect((await place.checksums()).filter(({ status }) => status?.reached)).toHaveLength(1));
  await soon(() => expect(reader.ids().filter((id) => /^(?:7-2|8-1|9-2)-/.test(id))).toHaveLength(3));
  for (const { metadata } of await place.checksums()) await soon(() => expect(reader.trusts(metadata.name)).toBe(true));
  expect(reader.check()).toMatch(/^mismatch/);
  await place.put(second);
  await place.published(["7-2", "8-2", "9-2"]);
  await soon(() => expect(reader.check()).toBe("pass"));
});

test("what vanished unannounced goes through with no other announcement", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "along");
  await place.startOperator();
  const names = Array.from({ length: 6 }, (_, index) => `shop-${index + 1}`);
  for (const [index, name] of names.entries()) await place.putSecret(name, 1, certificate(index));
  const { metadata } = await place.published(names.map((name) => `${name.slice(5)}-1`));
  expect((await announce(place, [place.secret("shop-1", 2, certificate(2))])).code).toBe(0);
  await removeAtOnce(place, names.slice(2));
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False LargeChange"));
  expect(await announce(place, [place.secret("shop-2", 2, certificate(3))])).toMatchObject({
    code: 1,
    err: expect.stringContaining("the newest checksum is not of the objects as they are"),
  });
});

test("many that vanish are not published until somebody lets them through", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "vanish");
  const names = Array.from({ length: 5 }, (_, index) => `shop-${index + 1}`);
  for (const [index, name] of names.entries()) await place.putSecret(name, 1, certificate(index));
  await place.startOperator();
  const { metadata } = await place.published(names.map((name) => `${name.slice(5)}-1`));
  const operator = await removeAtOnce(place, names.slice(1));
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False LargeChange"));
  await soon(async () => expect(await operator.metrics()).toContain(`keyturn_checksum_held{kind="SecretCheckSum",namespace="${place.namespace}"} 1`));
  expect(await place.checksums()).toHaveLength(1);
  const { code, out } = await keyturn("checksum", "allow", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, "--wait");
  expect([code, out]).toEqual([0, expect.stringContaining("0 new and 4 gone")]);
  await place.published(["1-1"]);
});

test("that the last certificates are gone is let through too, where it is held", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "empty");
  const options = { flags: { "checksum.publish-empty": "true" } };
  await place.startOperator(options);
  for (const number of [1, 2, 3]) await place.putSecret(`shop-${number}`, 1, certificate(number));
  const { metadata } = await place.published(["1-1", "2-1", "3-1"]);
  await removeAtOnce(place, ["shop-1", "shop-2", "shop-3"], options);
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False LargeChange"));
  const { code, out } = await keyturn("checksum", "allow", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, "--wait");
  expect([code, out]).toEqual([0, expect.stringContaining("0 new and 3 gone")]);
  expect(out).toContain("nothing changes for IngressCheckSum");
  await place.published([]);
});

test("a word that was withdrawn is taken back where there is no certificate yet", { concurrent: true }, async ({ onTestFinished }) => {
  await using place = await verifiedNamespace(cluster(), "withdrawn");
  const { signing, checking } = await signingKeys(onTestFinished);
  await place.startOperator({ flags: { "checksum.announced-only": "*", "checksum.announcement-keys": checking } });
  const coming = place.secret("shop-9", 1, certificate(1));
  expect((await announce(place, [coming], "--sign", signing)).code).toBe(0);
  const [withdrawn] = await place.checksums();
  if (!withdrawn) throw new Error("nothing was announced");
  const { name } = withdrawn.metadata;
  await cluster().client.delete(SecretCheckSum, { namespace: place.namespace, name });
  const access = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
  // Of two words of one second nobody can say which came later.
  await soon(() => expect(Date.now()).toBeGreaterThan(Date.parse(withdrawn.spec.timestamp) + 1000));
  expect(await keyturn("checksum", "allow", ...access, "--sign", signing, "--wait")).toMatchObject({ code: 0, err: "" });

  // Whoever kept the word shows it again, and writes what it says.
  const { labels = {}, annotations = {} } = withdrawn.metadata;
  await cluster().client.create(SecretCheckSum, { metadata: { namespace: place.namespace, name, labels, annotations }, spec: withdrawn.spec });
  await place.put(coming);
  await soon(async () => expect(await currentReasons(place)).toContain("Unannounced"));
});

test(
  "where only what is signed counts, an unsigned announcement is worth nothing, and a signed one is published",
  { concurrent: true },
  async ({ onTestFinished }) => {
    await using place = await verifiedNamespace(cluster(), "signed");
    const { signing, checking } = await signingKeys(onTestFinished);
    await place.startOperator({ flags: { "checksum.announced-only": "*", "checksum.announcement-keys": checking } });
    await place.putSecret("shop-7", 1, certificate(0));
    const access = ["-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig];
    const allowed = await keyturn("checksum", "allow", ...access, "--sign", signing, "--wait");
    expect(allowed).toMatchObject({ code: 0, err: "" });
    const { metadata } = await place.published(["7-1"]);
    const next = place.secret("shop-7", 2, certificate(2));
    expect((await announce(place, [next])).code).toBe(0);
    await place.put(next);
    await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False Unannounced"));
    expect((await keyturn("checksum", "allow", ...access, "--sign", signing)).code).toBe(0);
    await place.published(["7-2"]);

    // Who has the cluster adds a CA to what is there: with the next renewal it is not signed unless the manifest says so.
    const renewed = place.secret("shop-7", 3, certificate(3));
    const planted = { ...next, data: { ...next.data, "ca.crt": next.data?.["tls.crt"] ?? "" } };
    await place.put(planted);
    await soon(async () => expect(await currentReasons(place)).toContain("Unannounced"));
    expect(await announce(place, [renewed], "--sign", signing, "--force")).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot sign shop-7: it has ca.crt in the cluster"),
    });
    await place.put(next);
    await place.published(["7-2"]);
    expect(await announce(place, [JSON.stringify({ ...renewed, data: {} })], "--sign", signing)).toMatchObject({
      code: 1,
      err: expect.stringContaining("cannot sign shop-7: it has tls.crt, tls.key in the cluster"),
    });

    // What is signed and still to come is taken back only by whoever says so; then it is nobody's word any more.
    const coming = place.secret("shop-9", 1, certificate(1));
    expect((await announce(place, [coming], "--sign", signing)).code).toBe(0);
    const refused = await keyturn("checksum", "allow", ...access, "--sign", signing);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("is announced and still to come") });
    expect((await keyturn("checksum", "allow", ...access, "--sign", signing, "--force", "--wait")).code).toBe(0);
    await place.put(coming);
    await soon(async () => expect(await currentReasons(place)).toContain("Unannounced"));
  },
);

test(
  "a key is changed as the guide says: both, everything signed with the new one, then the new one alone",
  { concurrent: true },
  async ({ onTestFinished }) => {
    await using place = await verifiedNamespace(cluster(), "new-key");
    const folder = await mkdtemp(join(tmpdir(), "keyturn-keys-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pem = ["old", "new"].map((name) => {
      const { privateKey, publicKey } = generateKeyPairSync("ed25519");
      return {
        name: join(folder, name),
        privateKey: privateKey.export({ format: "pem", type: "pkcs8" }),
        publicKey: publicKey.export({ format: "pem", type: "spki" }),
      };
    });
    const [before, after] = [pem[0] ?? expect.fail(), pem[1] ?? expect.fail()];
    for (const { name, privateKey } of pem) await writeFile(name, privateKey);
    const startWith = async (...texts: readonly (string | Buffer)[]): Promise<RunningOperator> => {
      const file = join(folder, `${texts.length}.pub`);
      await writeFile(file, texts.join(""));
      return place.startOperator({ flags: { "checksum.announced-only": "*", "checksum.announcement-keys": file } });
    };
    const allow = (key: string): Promise<Finished> =>
      keyturn("checksum", "allow", "-n", place.namespace, "--kubeconfig", cluster().adminKubeconfig, "--sign", key, "--wait");
    const both = await startWith(before.publicKey, after.publicKey);
    await place.putSecret("shop-7", 1, certificate(0));
    expect(await allow(before.name)).toMatchObject({ code: 0 });
    expect((await announce(place, [place.secret("bank-8", 1, certificate(1))], "--sign", before.name)).code).toBe(0);
    await place.putSecret("bank-8", 1, certificate(1));
    await place.published(["7-1", "8-1"]);
    expect(await allow(after.name)).toMatchObject({ code: 0 });
    await both.stop();
    const alone = await startWith(after.publicKey);
    await soon(async () => expect(await alone.metrics()).toContain(`keyturn_checksum_held{kind="SecretCheckSum",namespace="${place.namespace}"} 0`));
    await place.published(["7-1", "8-1"]);
  },
);

test("thousands of certificates are signed at once, in as many announcements as that takes", { concurrent: true }, async () => {
  const members = new MemberSet();
  for (let index = 0; index < 20_000; index++)
    members.set(`shop-${index}`, { state: "counted", id: `${index}-1-${"0".repeat(40)}`, digest: "0".repeat(64) });
  const parts = inParts(confirmationOf([], members));
  expect(parts.flat()).toHaveLength(20_000);
  await using place = await verifiedNamespace(cluster(), "thousands");
  const { namespace } = place;
  const key = readSigningKey(generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  const announced = { namespace, state: members.state(), parts, published: [], serverMs: Date.now(), ownMs: Date.now(), expiresInMs: 600_000, key };
  const objects = announcementObjects({ checksums: SecretCheckSum, prefix: "secret" }, announced);
  expect(new Set(objects.map(({ spec }) => spec.timestamp)).size).toBe(parts.length);
  for (const object of objects) await cluster().client.create(SecretCheckSum, object);
  expect(await place.checksums()).toHaveLength(parts.length);
});

test.each([
  ["tomorrow", 24 * 3_600_000, false],
  ["yesterday", -24 * 3_600_000, false],
  ["now, roughly", 600_000, true],
])("whoever signs does not take the API server's word that it is %s", (_, differenceMs, isTaken) => {
  const check = (): void => refuseOddTime(Date.UTC(2026, 0) + differenceMs, Date.UTC(2026, 0));
  if (isTaken) expect(check).not.toThrow();
  else expect(check).toThrow("agents believe no word that is older than the last");
});

test("with other flags than the operator's it is refused, because the two would never agree", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "flags");
  await startWithTwo(place);
  const { code, err } = await announce(place, [place.secret("shop-7", 2, certificate(2))], "--checksum.version-annotations", "example.com/version");
  expect([code, err]).toEqual([1, expect.stringContaining("see that the --checksum.* flags are the operator's")]);
});

test("a manifest that will be left out is named, and -o json says the same", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "named");
  await startWithTwo(place);
  const batch = [place.secret("shop-7", 2, certificate(2)), place.secret("wild", 1, certificate(3))];
  const { out } = await announce(place, batch, "-o", "json");
  expect(JSON.parse(out)).toMatchObject([{ kind: "SecretCheckSum", count: 2, problems: [{ name: "wild", reason: "NumberMissing" }] }]);
});

test("from standard input, and Ingresses too", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "input");
  await place.startOperator();
  await place.putIngress("shop-7", 1);
  await place.published(["7-1"], IngressCheckSum);
  const manifest = `{"kind":"Ingress","metadata":{"name":"shop-7","annotations":{"nginx.ingress.kubernetes.io/version":"2"}}}`;
  const out = await runShell(cluster(), `echo '${manifest}' | ${program} checksum announce -n ${place.namespace} -f -`);
  expect(out).toMatch(/^announced IngressCheckSum ingress-checksum-\w+ .* of 1, 1 new and 1 gone/);
  await place.putIngress("shop-7", 2);
  const { spec } = await place.published(["7-2"], IngressCheckSum);
  expect(spec.announcement).toBeDefined();
});

test.concurrent.each([
  [["checksum", "publish"], 'there is no action "publish"'],
  [["checksum", "allow", "-f", "/nowhere"], "checksum allow: it takes no manifests"],
  [["checksum", "allow", "--sign", "/nowhere"], "--sign: /nowhere cannot be read"],
  [["checksum", "announce"], "say with -f which manifests are going to be applied"],
  [["checksum", "announce", "--delete", "pod/a"], '--delete: "pod/a" is not secret/NAME or ingress/NAME'],
  [["checksum", "announce", "-f", "/nowhere"], "--file: cannot read /nowhere"],
])("wrong usage is one line and exit code 2: %j", async (args, message) => {
  const { code, err } = await keyturn(...args);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  expect(err.trimEnd()).not.toContain("\n");
});
