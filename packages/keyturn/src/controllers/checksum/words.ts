// What announcements that count say together: the newest word on each object, what no word speaks of, and which announcements have to stay for that. Pure.
import { type AnnouncedChange, isNothingElse, type LiveObjects, saidMsOf, takeBack } from "./announcement.ts";
import { changesOf, type SettledCheckSum } from "./history.ts";
import { differenceOf, type Member } from "./ids.ts";
import { type PublishedCheckSum, statementOf } from "./check-sum-object.ts";
import type { MemberSet } from "./members.ts";

/** What one announcement says about one object. */
interface Word {
  readonly change: AnnouncedChange;
  /** Later words have higher numbers. */
  readonly order: number;
}

/** The words of announcements. */
interface Words {
  /** The newest on each object, by name. */
  readonly newest: ReadonlyMap<string, Word>;
  /** The newest that gives up an object whose name was not known, by its id. */
  readonly nameless: ReadonlyMap<string, Word>;
}

/** Reads announcements, in any order: the later word counts, in the order that agents have too. */
export function wordsOf(announced: readonly PublishedCheckSum[]): Words {
  const said = announced.map((checksum) => ({ saidMs: checksum.signedMs ?? saidMsOf(statementOf(checksum)), changes: changesOf(checksum) ?? [] }));
  const oldestFirst = said.toSorted((left, right) => left.saidMs - right.saidMs);
  const [newest, nameless] = [new Map<string, Word>(), new Map<string, Word>()];
  for (const [order, change] of oldestFirst.flatMap(({ changes }) => changes).entries()) {
    if (isNothingElse(change)) takeBack(newest);
    else if (change.name !== "") newest.set(change.name, { change, order });
    else if (change.to === undefined && change.from !== undefined) nameless.set(change.from, { change, order });
  }
  return { newest, nameless };
}

/** What is not as the newest words say, in words; undefined if everything is. Object by object: two may share an id. */
export function unspokenOf(words: Words, { state, get }: Pick<MemberSet, "state" | "get">): string | undefined {
  const [asSaid, missing]: [string[], string[]] = [[], []];
  for (const [name, word] of words.newest) {
    const { to, sha256 } = word.change;
    const live = get(name);
    if (to === undefined) continue;
    if (live?.state !== "counted") {
      if (!isGivenUp(words, word)) missing.push(`${name}, which ${live ? `does not count: ${live.reason}` : "is gone"}`);
    } else if (live.id === to && (sha256 === undefined || live.digest === sha256)) asSaid.push(to);
  }
  const { notPublished: unsaid } = differenceOf(state().ids, asSaid);
  const [first] = [...unsaid, ...missing];
  if (first === undefined) return undefined;
  return `${unsaid.length} objects are as nobody announced, and ${missing.length} that were announced are not there, such as ${first}`;
}

/** How long an agent may be away and still learn that a certificate was given up. */
const deletionsStayMs = 30 * 24 * 3_600_000;

/**
 * Which announcements have to stay, the newest first: those with the newest word on an object that is not given up, for as long as it is not; and those that give
 * one up, for thirty days, and for as long as an older one that stays says otherwise.
 */
export function speakingOf(
  announced: readonly SettledCheckSum[],
  { member, nowMs }: { readonly member: LiveObjects["member"]; readonly nowMs: number },
): ReadonlySet<PublishedCheckSum> {
  const words = wordsOf(announced.map(({ checksum }) => checksum));
  const isNewest = (change: AnnouncedChange): boolean => words.newest.get(change.name)?.change === change;
  const speaking = new Set<PublishedCheckSum>();
  const [names, ids] = [new Set<string>(), new Set<string>()];
  for (const { checksum, sinceMs } of announced.toReversed()) {
    const changes = changesOf(checksum) ?? [];
    const isRecent = nowMs < sinceMs + deletionsStayMs;
    const speaks = changes.some((change) => {
      const { name, from, to } = change;
      if (to === undefined && name === "") return isRecent || (from !== undefined && ids.has(from));
      if (!isNewest(change)) return false;
      if (to === undefined) return isRecent || names.has(name);
      const word = words.newest.get(name);
      return isLive(member(name), to) || !word || !isGivenUp(words, word);
    });
    if (!speaks) continue;
    speaking.add(checksum);
    for (const { name, to } of changes) {
      if (to === undefined) continue;
      names.add(name);
      ids.add(to);
    }
  }
  return speaking;
}

function isLive(live: Member | undefined, id: string): boolean {
  return live?.state === "counted" && live.id === id;
}

/** True if a later word gave up an object with the same id, whose name was not known. */
function isGivenUp({ nameless }: Words, { change: { to = "" }, order }: Word): boolean {
  return (nameless.get(to)?.order ?? -1) > order;
}
