// What is not known, and why. A step about which there is a doubt is not well, whatever its objects said last.
import type { Health, StageRecord } from "../contract/index.ts";
import type { Connection } from "./live-picture.ts";
import { usePage } from "./page-state.ts";
import { type HealthCounts, worstHealth } from "./record-list.ts";
import { stageInfos } from "./stages.ts";

/** Why nothing certain can be said about a step. `loading` ends by itself. */
interface Doubt {
  readonly about: "page" | "server" | "rights" | "leader" | "loading";
  readonly message: string;
  /** When what is shown was last known to be so. */
  readonly asOfMs?: number;
}

/** All that is doubtful about a step. Nothing is about one that is switched off or not installed. */
export function doubtsAbout(record: StageRecord | undefined, connection: Connection): readonly Doubt[] {
  const cutAtMs = connection.state === "cut" || connection.state === "connecting" ? connection.cutAtMs : undefined;
  if (cutAtMs !== undefined) return [{ about: "page", message: "this page is cut off from its server", asOfMs: cutAtMs }];
  if (record === undefined) return [{ about: "loading", message: "nothing has been read yet" }];
  if (!isShown(record)) return [];
  const { troubles, hidden, leader, asOfMs } = record;
  const doubts: Doubt[] = [];
  const failing = troubles.find(({ state }) => state === "retrying");
  if (failing) doubts.push({ about: "server", message: `no answer: ${failing.message}`, ...(asOfMs !== undefined && { asOfMs }) });
  const refused = troubles
    .filter(({ state }) => state === "forbidden")
    .map(({ resource, namespace }) => (namespace === undefined ? resource : `${resource} in ${namespace}`));
  if (refused.length + hidden.length > 0)
    doubts.push({ about: "rights", message: `no right to list ${[...new Set([...refused, ...hidden])].join(", ")}` });
  if (leader?.state === "none") doubts.push({ about: "leader", message: `nobody leads: ${leader.message}` });
  if (leader?.state === "unknown") doubts.push({ about: "leader", message: `whether somebody leads is not known: ${leader.message}` });
  if (leader === undefined || troubles.some(({ state }) => state === "syncing")) doubts.push({ about: "loading", message: "being listed" });
  return doubts;
}

/** Whether a step is there at all: switched on, and installed. */
export function isShown({ state }: StageRecord): boolean {
  return state !== "off" && state !== "absent";
}

/** How a step fares: as the worst of its objects, if that can be said. It is not well if some of them cannot be seen, however well the others are. */
export function stageHealth(record: StageRecord | undefined, connection: Connection, counts: HealthCounts): Health {
  if (!record || !isShown(record) || doubtsAbout(record, connection).length > 0) return "unknown";
  const worst = worstHealth(counts);
  return record.shownIn !== undefined && worst !== "error" && worst !== "warning" ? "unknown" : worst;
}

/** The only namespaces that this viewer sees objects of, in one of the steps at least; undefined if they may see all there are. */
export function shownNamespaces(records: readonly StageRecord[]): readonly string[] | undefined {
  const limited = records.filter(isShown).flatMap(({ shownIn }) => (shownIn === undefined ? [] : [shownIn]));
  return limited.length === 0 ? undefined : [...new Set(limited.flat())].toSorted();
}

/** Beyond so many, the rest is counted. */
const maxNamed = 5;

/** `namespace a`, `namespaces a, b and 3 more`. */
export function namespacesText(namespaces: readonly string[]): string {
  const more = namespaces.length > maxNamed ? ` and ${namespaces.length - maxNamed} more` : "";
  return `${namespaces.length === 1 ? "namespace" : "namespaces"} ${namespaces.slice(0, maxNamed).join(", ")}${more}`;
}

/** What is said wherever a step is shown of which not all can be seen. */
export function limitText(namespaces: readonly string[]): string {
  return `shown: ${namespacesText(namespaces)}; others are not visible to you`;
}

/** A doubt, and the steps that share it. */
interface SharedDoubt {
  readonly about: Doubt["about"];
  readonly steps: readonly string[];
  /** One sentence each, with its steps before it where not all say the same. */
  readonly messages: readonly string[];
  readonly asOfMs: number | undefined;
}

/** The doubts about all steps by what they are about, those first that make most of the page doubtful. */
export function sharedDoubts(steps: readonly { readonly name: string; readonly doubts: readonly Doubt[] }[]): readonly SharedDoubt[] {
  const order: readonly Doubt["about"][] = ["page", "server", "rights", "leader", "loading"];
  return order.flatMap((about): readonly SharedDoubt[] => {
    const found = steps.flatMap(({ name, doubts }) =>
      doubts.filter((doubt) => doubt.about === about).map(({ message, asOfMs }) => ({ name, message, asOfMs })),
    );
    if (found.length === 0) return [];
    const byMessage = [...Map.groupBy(found, ({ message }) => message)];
    const times = found.flatMap(({ asOfMs }) => asOfMs ?? []);
    return [
      {
        about,
        steps: found.map(({ name }) => name),
        // Of many requests that fail, one is enough to show why.
        messages:
          byMessage.length === 1 || about === "server"
            ? byMessage.slice(0, 1).map(([message]) => message)
            : byMessage.map(([message, some]) => `${some.map(({ name }) => name).join(", ")}: ${message}`),
        asOfMs: times.length > 0 ? Math.min(...times) : undefined,
      },
    ];
  });
}

// What is doubtful about the steps of this page now.

/** By what they are about. */
export function useDoubts(): readonly SharedDoubt[] {
  const { live } = usePage();
  return sharedDoubts(
    stageInfos.map(({ step, verb }) => ({
      name: verb,
      doubts: doubtsAbout(
        live.tables.step.value.find((record) => record.step === step),
        live.connection.value,
      ),
    })),
  );
}

/** What each is called, in a sentence, and in a word or two for the bar. */
export const doubtWords: Readonly<Record<SharedDoubt["about"], { readonly title: string; readonly sentence: string; readonly short: string }>> = {
  page: { title: "Connection", sentence: "this page is cut off from its server", short: "cut off" },
  server: { title: "API server", sentence: "the API server does not answer", short: "no API server" },
  rights: { title: "Rights", sentence: "a right is missing", short: "rights missing" },
  leader: { title: "Operator", sentence: "no operator is known to lead", short: "no operator" },
  loading: { title: "Loading", sentence: "it is being read", short: "loading" },
};
