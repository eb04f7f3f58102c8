// References to container images, and when two of them mean the same image.

/** A reference in parts, with Docker Hub's shorthands written out. */
export interface ImageReference {
  /** With its port, such as `registry.example:5000`. */
  readonly registry: string;
  /** Such as `istio/proxyv2`. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

const dockerHub = "docker.io";
/** Names under which Docker Hub also goes. */
const dockerHubAliases = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

/**
 * Reads a reference as container runtimes do: the part before the first slash is a registry if it has a dot or a port or is `localhost`; a colon is
 * before a tag only after the last slash. Without tag and digest the tag is `latest`.
 */
export function parseImage(image: string): ImageReference {
  const [named = "", digest] = image.split("@", 2);
  const colon = named.lastIndexOf(":");
  const tagged = colon > named.lastIndexOf("/");
  const path = tagged ? named.slice(0, colon) : named;
  const tag = tagged ? named.slice(colon + 1) : digest === undefined ? "latest" : undefined;
  const [first = "", ...rest] = path.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const registry = hasRegistry && !dockerHubAliases.has(first) ? first : dockerHub;
  const repository = hasRegistry ? rest.join("/") : path;
  return { registry, repository: registry === dockerHub && !repository.includes("/") ? `library/${repository}` : repository, tag, digest };
}

/** In templates of gateways: whatever istiod injects. It stays there if istiod does not. */
const injectedImage = "auto";

/** The grammar of https://github.com/distribution/reference/blob/v0.6.0/regexp.go, part by part. */
const registryForm = /^(?:[\w.-]+|\[[0-9A-Fa-f:]+\])(?::\d+)?$/;
const nameForm = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^[A-Za-z][\w+.-]*:[0-9A-Fa-f]{32,}$/;

/** True if a node can be told to run it: a reference to an image, and not one that injection was to replace. */
export function isRunnableImage(image: string): boolean {
  if (image === injectedImage) return false;
  const { registry, repository, tag, digest } = parseImage(image);
  return (
    registryForm.test(registry) &&
    repository.split("/").every((name) => nameForm.test(name)) &&
    (tag === undefined || tagForm.test(tag)) &&
    (digest === undefined || digestForm.test(digest))
  );
}

/**
 * True if both mean the same image: by the digest if they have one, otherwise by the tag.
 * Without `compareHub` only the last part of the repository counts, so that a mirror of the same image is the same.
 */
export function sameImage(left: string, right: string, { compareHub }: { readonly compareHub: boolean }): boolean {
  if (left === right) return true;
  const [one, other] = [parseImage(left), parseImage(right)];
  const sameName = compareHub ? one.registry === other.registry && one.repository === other.repository : lastPart(one) === lastPart(other);
  return sameName && one.digest === other.digest && (one.digest !== undefined || one.tag === other.tag);
}

function lastPart({ repository }: ImageReference): string {
  return repository.slice(repository.lastIndexOf("/") + 1);
}
