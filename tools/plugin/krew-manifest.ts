// The manifest by which krew installs the kubectl plugin (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
import { type KubeObject, yamlDocuments } from "@keyturn/runtime";

/** What only a release knows. */
interface KrewRelease {
  readonly version: string;
  /** Where the archive is to be had. */
  readonly uri: string;
  /** Of the archive, in hex. */
  readonly sha256: string;
  /** The project's page. */
  readonly homepage: string;
}

/** The manifest as YAML. The program is the same on every platform; only Windows cannot run the script that starts it. */
export function krewManifest({ version, uri, sha256, homepage }: KrewRelease): string {
  const plugin: KubeObject & { readonly spec: object } = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "keyturn" },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: "See how credentials fare, and what comes next",
      description: [
        "The life of a credential in Kubernetes: issue, rotate, publish, verify, roll out. This plugin looks at what the Keyturn operator does:",
        "`status` shows every step and what needs attention first, `doctor` finds what is wrong with an installation, `plan`, `history` and `diff`",
        "answer what will happen, what has happened, and what is not as it should be.",
      ].join("\n"),
      caveats: [
        "Needs Node.js 24 or newer, as node in the PATH.",
        "For completion after `kubectl keyturn`, link it under the name that kubectl looks for:",
        '  ln -s "$(readlink -f "$(command -v kubectl-keyturn)")" ~/.krew/bin/kubectl_complete-keyturn',
      ].join("\n"),
      platforms: [
        {
          selector: { matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }] },
          uri,
          sha256,
          bin: "./kubectl-keyturn",
          files: [{ from: "*", to: "." }],
        },
      ],
    },
  };
  return yamlDocuments([plugin]);
}
