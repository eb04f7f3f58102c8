// How what is there differs from what a checksum says, object by object.
import type { JSX } from "preact";
import type { DifferenceView } from "../../contract/index.ts";
import type { DetailState } from "../views/object.tsx";
import { HealthMark } from "./health-mark.tsx";

const words = { missing: "missing", unexpected: "not expected", changed: "changed" } as const;

export function DifferenceList({ detail }: { readonly detail: DetailState }): JSX.Element {
  if (detail.state === "loading") return <p class="empty soft">Being compared…</p>;
  if (detail.state === "refused") return <p class="empty soft">The difference could not be had: {detail.why}</p>;
  const { differences, differencesHidden } = detail.detail;
  if (differences === undefined)
    return <p class="empty soft">The difference is not shown{differencesHidden === undefined ? "." : `: ${differencesHidden}`}</p>;
  if (differences.length === 0)
    return (
      <p class="empty">
        <HealthMark health="ok" text="No difference: the objects are as the checksum says." />
      </p>
    );
  return (
    <ul>
      {differences.map((difference) => (
        <Difference key={`${difference.direction}/${difference.name}`} difference={difference} />
      ))}
    </ul>
  );
}

function Difference({ difference }: { readonly difference: DifferenceView }): JSX.Element {
  return (
    <li class="difference">
      <span class="tone-warning tone-text">{words[difference.direction]}</span>
      <code>{difference.name}</code>
      <span class="message">{difference.message}</span>
    </li>
  );
}
