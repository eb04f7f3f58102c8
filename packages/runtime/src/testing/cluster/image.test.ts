// Image archives: what is in them, and that the same files give the same bytes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageArchive, type ImageContent, librariesOf } from "./image.ts";
import { tarArchive } from "./tar-archive.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "keyturn-image-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const content = (text: string): Uint8Array => Buffer.from(text);
const unpack = (archive: Uint8Array, name: string): string => {
  const place = join(folder, name);
  writeFileSync(`${place}.tar`, archive);
  execFileSync("sh", ["-c", 'mkdir "$1" && tar -xf "$1.tar" -C "$1"', "sh", place]);
  return place;
};

describe("imageArchive", () => {
  const image: ImageContent = {
    names: ["example.test/a:1", "example.test/b:1"],
    layers: [[{ name: "bin/program", content: content("program"), executable: true }], [{ name: "etc/deep/file", content: content("text") }]],
    settings: { Entrypoint: ["/bin/program"], User: "65532:65532" },
  };

  it("has an index that leads from each name to manifest, settings and layers", () => {
    const place = unpack(imageArchive(image), "image");
    const json = (path: string) => JSON.parse(readFileSync(join(place, path), "utf8"));
    const blob = ({ digest }: { readonly digest: string }): string => `blobs/${digest.replace(":", "/")}`;
    const { manifests } = json("index.json");
    expect(manifests.map(({ annotations }: never) => annotations["io.containerd.image.name"])).toEqual(image.names);
    const manifest = json(blob(manifests[1]));
    const config = json(blob(manifest.config));
    expect(config).toMatchObject({ os: "linux", config: image.settings });
    expect(config.rootfs.diff_ids).toEqual(manifest.layers.map(({ digest }: { readonly digest: string }) => digest));
    const second = unpack(readFileSync(join(place, blob(manifest.layers[1]))), "layer");
    expect(readFileSync(join(second, "etc/deep/file"), "utf8")).toBe("text");
  });

  it("gives the same bytes for the same files, and others for others", () => {
    expect(imageArchive(image)).toEqual(imageArchive(image));
    expect(imageArchive({ ...image, settings: {} })).not.toEqual(imageArchive(image));
  });
});

describe("tarArchive", () => {
  it("holds files, folders and links with their modes", () => {
    const place = unpack(
      tarArchive([
        { name: "open", folderMode: 0o755 },
        { name: "open/program", content: content("p"), executable: true },
        { name: "open/text", content: content("t") },
        { name: "link", linkTo: "open/text" },
      ]),
      "tar",
    );
    expect(readFileSync(join(place, "link"), "utf8")).toBe("t");
    expect([statSync(join(place, "open/program")).mode & 0o777, statSync(join(place, "open/text")).mode & 0o777]).toEqual([0o755, 0o644]);
  });

  it("refuses a name that does not fit", () => {
    expect(() => tarArchive([{ name: "x".repeat(101), content: content("") }])).toThrow("longer than 100 bytes");
  });
});

it("librariesOf names what the loader would load, each once", () => {
  const names = librariesOf(process.execPath, process.execPath).map(({ name }) => name);
  expect(names.some((name) => /libc\.so/.test(name))).toBe(true);
  expect(new Set(names).size).toBe(names.length);
});
