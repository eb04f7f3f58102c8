// What is not known, and why. A step about which there is a doubt is not well, whatever its objects said last.
import {
  type Doubt,
  doubtsAbout,
  type Health,
  type HealthCounts,
  isShown,
  stageHealth,
  type StageLayout,
  type StageRecord,
} from "../contract/index.ts";
import type { Connection } from "./live-picture.ts";
import { stageRecordOf, usePage, useStages } from "./page-state.ts";

/** Since when this page is cut off from its server, if it is. */
function cutAtMs(connection: Connection): number | undefined {
  return connection.state === "cut" || connection.state === "connecting" ? connection.cutAtMs : undefined;
}

/** All that is doubtful about a step on this page. */
export function doubtsOn(connection: Connection, record: StageRecord | undefined): readonly Doubt[] {
  return doubtsAbout(record, cutAtMs(connection));
}

/** How a step fares on this page. */
export function healthOn(connection: Connection, record: StageRecord | undefined, counts: HealthCounts): Health {
  return record ? stageHealth(record, doubtsOn(connection, record), counts) : "unknown";
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

/** Until when what is shown of a step is known to be so; undefined while it is live. */
export function knownUntilMs(doubts: readonly Doubt[]): number | undefined {
  const times = doubts.flatMap(({ asOfMs }) => asOfMs ?? []);
  return times.length > 0 ? Math.min(...times) : undefined;
}

// What is doubtful about the steps of this page now.

/** About one of them. */
export function useDoubtsOn(stage: StageLayout): readonly Doubt[] {
  const { live } = usePage();
  return doubtsOn(live.connection.value, stageRecordOf(live, stage));
}

/** By what they are about. */
export function useDoubts(): readonly SharedDoubt[] {
  const { live } = usePage();
  return sharedDoubts(useStages().map((stage) => ({ name: stage.verb, doubts: doubtsOn(live.connection.value, stageRecordOf(live, stage)) })));
}

/** What each is called, in a sentence, and in a word or two for the bar. */
export const doubtWords: Readonly<Record<SharedDoubt["about"], { readonly title: string; readonly sentence: string; readonly short: string }>> = {
  page: { title: "Connection", sentence: "this page is cut off from its server", short: "disconnected" },
  server: { title: "API server", sentence: "the API server does not answer", short: "no API server" },
  rights: { title: "Rights", sentence: "a right is missing", short: "rights missing" },
  leader: { title: "Operator", sentence: "no operator is known to lead", short: "no operator" },
  loading: { title: "Loading", sentence: "it is being read", short: "loading" },
};
