// resourceVersions are opaque, but for one question: has this watch come as far as that write?

const decimal = /^[0-9]+$/;

/**
 * Below zero if `left` is older, above if newer, zero if the same; undefined if the two cannot be compared.
 * Kubernetes 1.35 and later promise that resourceVersions of one resource compare as whole numbers of any length; earlier ones did in fact.
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (left === right) return 0;
  if (!decimal.test(left) || !decimal.test(right)) return undefined;
  const [a, b] = [BigInt(left), BigInt(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}
