// What the package.json of a package says where users install it: the compiled files in place of the sources, and ranges in place of exact versions.
import * as z from "zod";

/** The package.json of a package of this repository that others install. */
const sourceManifestSchema = z.object({
  name: z.string(),
  version: z.string().regex(/^\d+\.\d+\.\d+$/),
  description: z.string(),
  license: z.string(),
  type: z.literal("module"),
  sideEffects: z.literal(false),
  keywords: z.array(z.string()),
  homepage: z.string(),
  repository: z.object({ type: z.string(), url: z.string(), directory: z.string() }),
  exports: z.record(z.string(), z.string()),
  dependencies: z.record(z.string(), z.string()),
  engines: z.object({ node: z.string() }),
  /** Commands, and what users bring themselves. Not among the package's own fields: npm would link the sources, and count the rest to what the image needs. */
  publishConfig: z.object({
    bin: z.record(z.string(), z.string()),
    peerDependencies: z.record(z.string(), z.string()),
    peerDependenciesMeta: z.record(z.string(), z.object({ optional: z.boolean() })),
  }),
});

type SourceManifest = z.infer<typeof sourceManifestSchema>;

/** Reads a package.json. What this module does not know of, such as `devDependencies`, does not reach users. */
export function parseSourceManifest(text: string): SourceManifest {
  return sourceManifestSchema.parse(JSON.parse(text));
}

/** The manifest that is published. */
export function publishedManifest(source: SourceManifest): object {
  const { exports, dependencies, publishConfig, ...rest } = source;
  const own = Object.entries(dependencies).filter(([name]) => !(name in publishConfig.peerDependencies));
  return {
    ...rest,
    exports: compiledFiles(exports),
    dependencies: Object.fromEntries(own.map(([name, version]) => [name, `^${version}`])),
    ...publishConfig,
  };
}

function compiledFiles(exports: Readonly<Record<string, string>>): object {
  const ending = (path: string, of: ".js" | ".d.ts"): string => path.replace(/^\.\/src\//, "./dist/").replace(/\.ts$/, of);
  // `default`, not `import`: Node's `require` takes it too.
  const files = Object.entries(exports).map(([name, path]) => [name, { types: ending(path, ".d.ts"), default: ending(path, ".js") }]);
  return { ...Object.fromEntries(files), "./package.json": "./package.json" };
}
