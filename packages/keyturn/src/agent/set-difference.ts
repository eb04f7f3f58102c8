// Which Secrets differ from a checksum and in which direction, with their names.
import { differenceOf } from "../controllers/checksum/difference.ts";

/**
 * One Secret that differs. `missing`: the checksum has it and the namespace has not. `unexpected`: the other way round.
 * `changed`: both have it, in another version or with another certificate.
 */
export interface SecretDifference {
  readonly direction: "missing" | "unexpected" | "changed";
  /** Undefined if only the checksum knows it and it was never seen under a name. */
  readonly secret: string | undefined;
  readonly live: string | undefined;
  readonly published: string | undefined;
  /** Why a Secret that is there does not count. */
  readonly leftOut?: string;
}

/** What differences are found between. */
export interface Compared {
  /** Ids of the live set, by name. */
  readonly live: ReadonlyMap<string, string>;
  /** Secrets that are there and do not count, with the reason. */
  readonly leftOut: ReadonlyMap<string, string>;
  readonly published: readonly string[];
  /** Names under which ids were known before. */
  readonly knownNames: ReadonlyMap<string, string>;
}

/** Every Secret that differs, in the order of their numbers. */
export function setDifference({ live, leftOut, published, knownNames }: Compared): readonly SecretDifference[] {
  const { notPublished, notLive } = differenceOf(live.values(), published);
  // Sets are large and differences small, so only names that are asked for are looked up.
  const wanted = new Set(notPublished);
  const liveNames = new Map<string, string[]>();
  for (const [name, id] of live) if (wanted.has(id)) liveNames.set(id, [...(liveNames.get(id) ?? []), name]);
  const leftOutByNumber = new Map(Array.from(leftOut, ([name, reason]) => [numberOfName(name), { name, reason }]));
  const unexpected = Map.groupBy(notPublished, numberOfId);

  const differences: SecretDifference[] = notLive.map((id) => {
    const number = numberOfId(id);
    const counterpart = unexpected.get(number)?.shift();
    if (counterpart !== undefined) return { direction: "changed", secret: takeName(liveNames, counterpart), live: counterpart, published: id };
    const broken = leftOutByNumber.get(number);
    if (broken) return { direction: "missing", secret: broken.name, live: undefined, published: id, leftOut: broken.reason };
    return { direction: "missing", secret: knownNames.get(id), live: undefined, published: id };
  });
  for (const id of [...unexpected.values()].flat())
    differences.push({ direction: "unexpected", secret: takeName(liveNames, id), live: id, published: undefined });
  return differences.toSorted((a, b) => numberOfId(idOf(a)).localeCompare(numberOfId(idOf(b)), "en", { numeric: true }));
}

/** One difference as a line for people. */
export function differenceInWords({ direction, secret, live, published, leftOut }: SecretDifference): string {
  const who = secret ?? `the Secret with number ${numberOfId(published ?? "")}`;
  if (direction === "changed") return `${who} is ${live} and should be ${published}`;
  if (direction === "unexpected") return `${who} (${live}) is not in the checksum`;
  return `${who} (${published}) is ${leftOut === undefined ? "missing" : `there and does not count: ${leftOut}`}`;
}

function idOf({ live, published }: SecretDifference): string {
  return published ?? live ?? "";
}

/** Several Secrets can have one id; each is named once. */
function takeName(names: ReadonlyMap<string, string[]>, id: string): string | undefined {
  return names.get(id)?.pop();
}

function numberOfId(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("-", 1)));
}

function numberOfName(name: string): string {
  const digits = name.slice(name.lastIndexOf("-") + 1);
  return digits.replace(/^0+(?=\d)/, "");
}
