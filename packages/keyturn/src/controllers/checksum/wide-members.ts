// The objects of several namespaces as one set: named by namespace and name, and counted as Tengine counts them, without their namespace.
import { numberOfId } from "./id-difference.ts";
import { checksumOfSorted, contentDigestOfSorted, contentLine, type Member } from "./ids.ts";
import type { MemberSet, Problem, SetState } from "./members.ts";

/** What is asked of a set of members, of one namespace or several. */
export type MemberView = Pick<MemberSet, "state" | "problems" | "get" | "entries">;

/** How an object of a scope with several namespaces is named. */
export function wideName(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The sets of these namespaces, as they are now. Objects with the same number, which their ids do not tell apart for people, are named. */
export function wideMembers(sets: ReadonlyMap<string, MemberSet>): MemberView {
  const members = new Map<string, Member>();
  for (const [namespace, set] of sets) for (const [name, member] of set.entries()) members.set(wideName(namespace, name), member);
  const state = stateOf(members);
  return {
    state: () => state,
    get: (name) => members.get(name),
    entries: () => members.entries(),
    problems: () => problemsOf(members, state),
  };
}

function stateOf(members: ReadonlyMap<string, Member>): SetState {
  const [ids, lines]: [string[], string[]] = [[], []];
  for (const [name, member] of members) {
    if (member.state === "leftOut") continue;
    ids.push(member.id);
    if (member.digest !== undefined) lines.push(contentLine(name, member.digest));
  }
  ids.sort();
  return { ids, checksum: checksumOfSorted(ids), sha256: lines.length > 0 ? contentDigestOfSorted(lines.sort()) : undefined };
}

/** What is left out; and, of objects with the same number, all but the first by name. */
function problemsOf(members: ReadonlyMap<string, Member>, { ids }: SetState): readonly Problem[] {
  const repeated = new Set<string>();
  const seenNumbers = new Set<string>();
  for (const number of ids.map(numberOfId)) (seenNumbers.has(number) ? repeated : seenNumbers).add(number);
  const [problems, numbers, known]: [Problem[], Set<string>, Set<string>] = [[], new Set(), new Set()];
  for (const [name, member] of [...members].sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (member.state === "leftOut") problems.push({ name, reason: member.reason });
    else if (repeated.has(numberOfId(member.id))) {
      if (known.has(member.id)) problems.push({ name, reason: "DuplicateId" });
      else if (numbers.has(numberOfId(member.id))) problems.push({ name, reason: "DuplicateNumber" });
      known.add(member.id);
      numbers.add(numberOfId(member.id));
    }
  }
  return problems;
}
