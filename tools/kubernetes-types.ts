// Writes the types of Kubernetes' own kinds anew, from what the supported versions publish of them. Needed when cluster/go.mod names another Kubernetes; asks Go for the sources.
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mergeSchemas, parsePublishedSchema } from "./kubernetes-types/published-schema.ts";
import { renderTypes, typesFolder } from "./kubernetes-types/render.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const module = "k8s.io/kubernetes";

/** Versions between the oldest and the newest that are supported: some kinds were served by them alone. */
const between = ["v1.34.9", "v1.35.6"];

/** Where Go keeps the sources of a version of Kubernetes, which it fetches if it has to. */
function sourcesOf(version: string): string {
  const answer = execFileSync("go", ["mod", "download", "-json", `${module}@${version}`], { cwd: join(root, "cluster"), encoding: "utf8" });
  return (JSON.parse(answer) as { readonly Dir: string }).Dir;
}

function pinned(modFile: string): string {
  return execFileSync("go", ["list", `-modfile=${modFile}`, "-m", "-f", "{{.Version}}", module], {
    cwd: join(root, "cluster"),
    encoding: "utf8",
  }).trim();
}

const versions = [pinned("oldest.mod"), ...between, pinned("go.mod")];
const schemas = versions.map(async (version) => {
  const text = await readFile(join(sourcesOf(version), "api/openapi-spec/swagger.json"), "utf8");
  return parsePublishedSchema(JSON.parse(text));
});
const files = renderTypes(mergeSchemas(await Promise.all(schemas)));
await rm(join(root, typesFolder), { recursive: true, force: true });
for (const [path, text] of Object.entries(files)) {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
console.log(`${Object.keys(files).length} files, from Kubernetes ${versions.join(", ")}`);
