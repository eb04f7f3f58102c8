// resourceVersions are opaque, but for one question: has this watch come as far as that write?

const decimal = /^[0-9]+$/;

/**
 * Below zero if `left` is older, above if newer, zero if the same; undefined if the two cannot be compared.
 * Kubernetes 1.35 and later promise that resourceVersions of one resource compare as whole numbers of any length; earlier ones did in fact.
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (left === right) return 0;
  if (!decimal.test(left) || !decimal.test(right)) return undefined;
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  // Whole numbers without leading zeros: the longer one is larger, and of two equally long ones the first digit that differs tells.
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function withoutZeros(digits: string): string {
  return digits.startsWith("0") ? digits.replace(/^0+(?=.)/, "") : digits;
}
