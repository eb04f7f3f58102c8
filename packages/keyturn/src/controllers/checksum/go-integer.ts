// Whole numbers as Go's strconv.Atoi reads them, because Tengine's reader does.

const decimal = /^[+-]?[0-9]+$/;
const [smallest, largest] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The number that a text stands for: decimal digits with an optional sign, in 64 bits. Undefined for anything else, spaces included. */
export function parseGoInteger(text: string): bigint | undefined {
  if (!decimal.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value < smallest || value > largest ? undefined : value;
}
