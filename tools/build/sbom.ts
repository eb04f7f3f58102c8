// The software bill of materials of the bundle, in CycloneDX's JSON. The same input gives the same bytes: no time, no random number.
import { createHash } from "node:crypto";
import { dependenciesOf, isWorkspace, type LockFile, packageName } from "./lock-file.ts";

/** What the bill is for. */
export interface SbomInput {
  readonly lock: LockFile;
  /** Folders, as in the lock file, of all foreign packages that are in the bundle. */
  readonly folders: readonly string[];
  /** The version of Keyturn. */
  readonly version: string;
  /** The bundle itself. */
  readonly bundle: Uint8Array;
}

/** The bill as text. */
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
