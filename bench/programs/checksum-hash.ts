// The hashing behind a checksum of many Secrets, without a cluster: all of them anew, one change, and the bare SHA-1 of the same bytes.
import { spawnSync } from "node:child_process";
import { hash, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemberSet } from "../../packages/keyturn/src/controllers/checksum/members.ts";
import { defaultVersionAnnotation, type SecretContent, secretMember } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { endWithInput, report } from "./contestant-line.ts";

const [mode = "", count = "0"] = process.argv.slice(2);

endWithInput();
const rules = { versionAnnotations: [defaultVersionAnnotation] };
const issuer = makeCertificate({ keyType: "rsa2048", commonName: "issuer" });
const leaf = makeCertificate({ keyType: "rsa2048", issuer });
const data = secretData(leaf.certificate + issuer.certificate, leaf.privateKey);
const der = new X509Certificate(leaf.certificate).raw;
const secretAt = (index: number, version: number): SecretContent => ({
  metadata: { name: `shop-${index}`, annotations: { [defaultVersionAnnotation]: String(version) } },
  data,
});

function hashAll(set: MemberSet): void {
  for (let index = 0; index < Number(count); index++) set.set(`shop-${index}`, secretMember(secretAt(index, 1), rules));
  set.state();
}

/** The work, and how often it is done so that the clock can tell. */
function workOf(kind: string): { readonly times: number; readonly run: (time: number) => void } {
  if (kind === "all") return { times: 1, run: () => hashAll(new MemberSet()) };
  if (kind === "sha1") {
    return {
      times: 5,
      run: () => {
        for (let index = 0; index < Number(count); index++) hash("sha1", der, "hex");
      },
    };
  }
  if (kind === "sha1sum") return sha1sum();
  const set = new MemberSet();
  hashAll(set);
  return {
    times: 50,
    run(time) {
      set.set("shop-7", secretMember(secretAt(7, time + 2), rules));
      set.state();
    },
  };
}

/** The same bytes as one file, read by the program that everybody has. */
function sha1sum(): { readonly times: number; readonly run: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "keyturn-sha1sum-"));
  process.once("exit", () => rmSync(folder, { recursive: true }));
  const file = join(folder, "certificates");
  writeFileSync(file, Buffer.concat(Array.from({ length: Number(count) }, () => der)));
  return { times: 5, run: () => void spawnSync("sha1sum", [file]) };
}

const { times, run } = workOf(mode);
run(-1);
const startedMs = performance.now();
for (let time = 0; time < times; time++) run(time);
report({ type: "done", ms: (performance.now() - startedMs) / times });
