// References to container images: their parts, which of them a node can run, and when two of them mean the same image.
import { limits } from "../../../limits.ts";

/** A reference in parts, with Docker Hub's shorthands written out. */
interface ImageReference {
  /** With its port, such as `registry.example:5000`. */
  readonly registry: string;
  /** Such as `istio/proxyv2`. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/**
 * Reads a reference as container runtimes do: the part before the first slash is a registry if it has a dot, a port or an upper-case letter, or is
 * `localhost`; a colon is before a tag only after the last slash. Without tag and digest the tag is `latest`. Whether the parts are well formed is
 * said by `isRunnableImage`.
 */
export function parseImage(image: string): ImageReference {
  const at = image.indexOf("@");
  const named = at < 0 ? image : image.slice(0, at);
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const colon = named.lastIndexOf(":");
  const tagged = colon > named.lastIndexOf("/");
  const path = tagged ? named.slice(0, colon) : named;
  const tag = tagged ? named.slice(colon + 1) : digest === undefined ? "latest" : undefined;
  const slash = path.indexOf("/");
  const first = path.slice(0, Math.max(slash, 0));
  const hasRegistry = slash >= 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  const registry = hasRegistry && !dockerHubAliases.has(first) ? first : dockerHub;
  const repository = hasRegistry ? path.slice(slash + 1) : path;
  return { registry, repository: registry === dockerHub && !repository.includes("/") ? `library/${repository}` : repository, tag, digest };
}

const dockerHub = "docker.io";
/** Names under which Docker Hub also goes. */
const dockerHubAliases = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

/** In templates of gateways: whatever istiod injects. It stays there if istiod does not. */
export const imageToInject = "auto";

/** True if a node can run it: a reference to an image, and not one that injection was to replace. */
export function isRunnableImage(image: string): boolean {
  if (image === imageToInject || identifierForm.test(image)) return false;
  const { registry, repository, tag, digest } = parseImage(image);
  return (
    registry.length + 1 + repository.length <= limits.imageName &&
    registryForm.test(registry) &&
    repository.split("/").every((name) => nameForm.test(name)) &&
    (tag === undefined || tagForm.test(tag)) &&
    (digest === undefined || isDigest(digest))
  );
}

// The grammar of https://github.com/distribution/reference/blob/v0.6.0/regexp.go, part by part; each pattern has one way to match, and so is linear.
const registryForm = /^(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?:\.[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)*|\[[0-9A-Fa-f:]+\])(?::\d+)?$/;
const nameForm = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
/** Alone, it names an image that a node has already, and none that could be pulled. */
const identifierForm = /^[0-9a-f]{64}$/;

/** The algorithms that container runtimes know, with their length (https://github.com/opencontainers/go-digest/blob/v1.0.0/algorithm.go). */
const digestLengths: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

function isDigest(text: string): boolean {
  const colon = text.indexOf(":");
  const hex = text.slice(colon + 1);
  return digestLengths.get(text.slice(0, Math.max(colon, 0))) === hex.length && /^[0-9a-f]+$/.test(hex);
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
