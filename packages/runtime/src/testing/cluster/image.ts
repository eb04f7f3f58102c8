// Container images without an engine and without a registry: files of this machine, packed as an OCI archive that `ctr`, `docker load`, `kind load` and `skopeo` take.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { type ArchiveEntry, tarArchive } from "./tar-archive.ts";

/** How containers of an image start, in the image specification's own words. */
export interface ImageSettings {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  /** `uid:gid`, as numbers. */
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

/** An image to be packed. */
export interface ImageContent {
  /** With registry and tag, as pods name it: `docker.io/library/nginx:1.29`. The same image can have several. */
  readonly names: readonly string[];
  /** Lowest first. */
  readonly layers: readonly (readonly ArchiveEntry[])[];
  readonly settings: ImageSettings;
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64" };

/** The archive of an image for this machine's architecture. The same files give the same bytes: there are no dates in it. */
export function imageArchive({ names, layers, settings }: ImageContent): Uint8Array {
  const blobs = new Map<string, Uint8Array>();
  const store = (mediaType: string, content: Uint8Array) => {
    const hash = createHash("sha256").update(content).digest("hex");
    blobs.set(hash, content);
    return { mediaType, digest: `sha256:${hash}`, size: content.byteLength };
  };
  const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
  const packed = layers.map((entries) => store("application/vnd.oci.image.layer.v1.tar", tarArchive(withFolders(entries))));
  const platform = { architecture: architectures[process.arch] ?? process.arch, os: "linux" };
  const config = store(
    "application/vnd.oci.image.config.v1+json",
    json({ ...platform, config: settings, rootfs: { type: "layers", diff_ids: packed.map(({ digest }) => digest) } }),
  );
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = store(mediaType, json({ schemaVersion: 2, mediaType, config, layers: packed }));
  // containerd takes the first annotation for the name, others the second.
  const named = (name: string) => ({
    ...manifest,
    platform,
    annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name },
  });
  const index = {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: names.map(named),
  };
  const path = (digest: string): string => `blobs/sha256/${digest.slice("sha256:".length)}`;
  // For a Docker that is older than 25 and knows no OCI layout.
  const forDocker = [{ Config: path(config.digest), RepoTags: names, Layers: packed.map(({ digest }) => path(digest)) }];
  return tarArchive([
    { name: "oci-layout", content: json({ imageLayoutVersion: "1.0.0" }) },
    { name: "index.json", content: json(index) },
    { name: "manifest.json", content: json(forDocker) },
    ...Array.from(blobs, ([hash, content]) => ({ name: `blobs/sha256/${hash}`, content })),
  ]);
}

/** A file of this machine under its own path, or under another, as an entry of a layer. */
export function hostFile(path: string, name = path): ArchiveEntry {
  return { name: name.replace(/^\//, ""), content: readFileSync(path), executable: true };
}

/** The shared libraries that a program of this machine needs, and the loader, each under its own path. A static program needs none. */
export function librariesOf(...programs: readonly string[]): readonly ArchiveEntry[] {
  const paths = programs.flatMap((program) => {
    // It fails for a static program.
    const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
    return Array.from(stdout.matchAll(/(?:=> |^\s+)(\/\S+)/gm), ([, path = ""]) => path);
  });
  return [...new Set(paths)].sort().map((path) => hostFile(path));
}

/** What every image has besides its programs: users, a folder for temporary files, and how names are resolved. */
export function commonFiles(): readonly ArchiveEntry[] {
  const users = { root: 0, nginx: 101, nonroot: 65532, nobody: 65534 };
  const lines = (line: (name: string, id: number) => string): Uint8Array =>
    Buffer.from(
      Object.entries(users)
        .map(([name, id]) => `${line(name, id)}\n`)
        .join(""),
    );
  return [
    { name: "tmp", folderMode: 0o1777 },
    { name: "etc/passwd", content: lines((name, id) => `${name}:x:${id}:${id}::/:/sbin/nologin`) },
    { name: "etc/group", content: lines((name, id) => `${name}:x:${id}:`) },
    { name: "etc/nsswitch.conf", content: Buffer.from("hosts: files dns\n") },
  ];
}

/** The entries with every folder on the way before the first that needs it. */
function withFolders(entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] {
  const made = new Set(entries.flatMap((entry) => ("folderMode" in entry ? [entry.name] : [])));
  const above = (name: string): readonly string[] => {
    const folder = posix.dirname(name);
    return folder === "." || folder === "/" ? [] : [...above(folder), folder];
  };
  return entries.flatMap((entry) => {
    const missing = above(entry.name).filter((folder) => !made.has(folder));
    for (const folder of missing) made.add(folder);
    return [...missing.map((name) => ({ name, folderMode: 0o755 })), entry];
  });
}
