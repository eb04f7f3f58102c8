// What is in the bundle, for those whom it is passed on to: its bill of materials, the licences of its packages, and which licences they may have.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { dependenciesOf, isWorkspace, type LockFile, packageName } from "./lock-file.ts";

/** What the bill is for. */
interface SbomInput {
  readonly lock: LockFile;
  /** Folders, as in the lock file, of all foreign packages that are in the bundle. */
  readonly folders: readonly string[];
  /** The version of Keyturn. */
  readonly version: string;
  /** The bundle itself. */
  readonly bundle: Uint8Array;
}

/** The bill of materials in CycloneDX's JSON. The same input gives the same bytes: no time, no random number. */
export function renderSbom({ lock, folders, version, bundle }: SbomInput): string {
  const components = folders.map((folder) => componentOf(lock, folder)).sort((one, two) => (one.purl < two.purl ? -1 : 1));
  const refs = new Map(folders.map((folder) => [folder, purlOf(lock, folder)]));
  const inBundle = (folder: string): readonly string[] => dependsOn(lock, folder, refs);
  const digest = createHash("sha256").update(bundle).digest("hex");
  const root = `pkg:generic/keyturn@${version}`;
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidFrom(digest)}`,
    version: 1,
    metadata: {
      component: {
        "bom-ref": root,
        type: "application",
        name: "keyturn",
        version,
        licenses: [{ license: { id: "Apache-2.0" } }],
        hashes: [{ alg: "SHA-256", content: digest }],
      },
    },
    components,
    dependencies: [
      { ref: root, dependsOn: [...refs.values()].sort() },
      ...folders.map((folder) => ({ ref: purlOf(lock, folder), dependsOn: inBundle(folder) })).sort((one, two) => (one.ref < two.ref ? -1 : 1)),
    ],
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

function componentOf(lock: LockFile, folder: string) {
  const { version, integrity = "", license = "" } = entryOf(lock, folder);
  const [first = "", second] = packageName(folder).split("/");
  const purl = purlOf(lock, folder);
  return {
    "bom-ref": purl,
    type: "library",
    ...(second === undefined ? { name: first } : { group: first, name: second }),
    version,
    licenses: [/ (OR|AND) /.test(license) ? { expression: license } : { license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex") }],
    purl,
  };
}

function purlOf(lock: LockFile, folder: string): string {
  return `pkg:npm/${packageName(folder).replace("@", "%40")}@${entryOf(lock, folder).version}`;
}

function entryOf(lock: LockFile, folder: string) {
  const entry = lock.packages[folder];
  if (!entry || isWorkspace(folder)) throw new Error(`writing the bill of materials: ${folder} is not a foreign package of the lock file`);
  return entry;
}

function dependsOn(lock: LockFile, folder: string, refs: ReadonlyMap<string, string>): readonly string[] {
  return dependenciesOf(lock, folder)
    .map((each) => refs.get(each))
    .filter((ref) => ref !== undefined)
    .sort();
}

/** A name-based UUID (version 8): the bundle's digest names the bill. */
function uuidFrom(digest: string): string {
  const variant = ((Number.parseInt(digest.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** The licence texts that are passed on with the bundle, a part per package. Rejects if a package comes without the text of its licence. */
export async function renderNotices(root: string, lock: LockFile, folders: readonly string[]): Promise<string> {
  const parts = await Promise.all([...folders].sort().map((folder) => noticeOf(root, lock, folder)));
  const rule = "-".repeat(80);
  return ["Keyturn contains the following packages, each under its own licence.\n", ...parts].join(`\n${rule}\n\n`);
}

async function noticeOf(root: string, lock: LockFile, folder: string): Promise<string> {
  const entry = lock.packages[folder];
  const files = (await readdir(join(root, folder))).filter((name) => /^(licen[cs]e|notice|copying)(-\w+)?(\.(md|txt))?$/i.test(name)).sort();
  if (files.length === 0) throw new Error(`collecting licences: ${folder} has no licence file; look for its licence, or do without the package`);
  const texts = await Promise.all(files.map((name) => readFile(join(root, folder, name), "utf8")));
  const heading = `${packageName(folder)} ${entry?.version} (${entry?.license})`;
  return `${heading}\n\n${texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n")}\n`;
}

/** SPDX identifiers of licences that let the program be passed on under Apache-2.0 with no more than a notice. */
const allowedLicenses = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT", "Unlicense"]);

/** Whether an SPDX expression can be met with allowed licences alone. Of `A OR B` one is enough, of `A AND B` both are needed. */
export function isAllowedLicense(expression: string | undefined): boolean {
  if (expression === undefined || expression.trim() === "") return false;
  const bare = expression.trim().replace(/^\((.*)\)$/, "$1");
  if (/[()]/.test(bare)) return false;
  return bare.split(" OR ").some((choice) => choice.split(" AND ").every((license) => allowedLicenses.has(license.trim())));
}
