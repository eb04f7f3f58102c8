// What the server knows of one object beyond its record: asked for when somebody looks, and again when the record changes.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type DifferenceView, type ObjectDetail, objectPath } from "../../contract/index.ts";
import { objectDetailOf, refusalOf } from "../event-stream.ts";
import { usePage } from "../page-state.ts";
import type { ObjectName } from "../route.ts";
import { HealthMark } from "./health-mark.tsx";

/** How the question fares. */
export type DetailState =
  | { readonly state: "loading" }
  | { readonly state: "there"; readonly detail: ObjectDetail }
  | { readonly state: "refused"; readonly why: string };

/** How soon it is asked again after a change: changes come in bursts. */
const settleMs = 700;

/** `revision` is anything that differs when the record does. While a newer answer is awaited, the one before is given. */
export function useObjectDetail({ resource, namespace, name }: ObjectName, revision: unknown): DetailState {
  const { live } = usePage();
  const [detail, setDetail] = useState<{ readonly of: string; readonly state: DetailState }>({ of: "", state: { state: "loading" } });
  const path = objectPath({ resource, namespace, name });
  const known = detail.of === path;
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(
      () => {
        fetchDetail(live.get(path, stop.signal)).then(
          (state) => setDetail({ of: path, state }),
          (error: unknown) => {
            if (!stop.signal.aborted)
              setDetail({ of: path, state: { state: "refused", why: error instanceof Error ? error.message : String(error) } });
          },
        );
      },
      known ? settleMs : 0,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, revision]);
  return known ? detail.state : { state: "loading" };
}

async function fetchDetail(answer: Promise<Response>): Promise<DetailState> {
  const response = await answer;
  if (response.ok) return { state: "there", detail: await objectDetailOf(response) };
  return { state: "refused", why: await refusalOf(response) };
}

// How what is there differs from what a checksum says, object by object.

const directionWords = { missing: "missing", unexpected: "not expected", changed: "changed" } as const;

export function DifferenceList({ detail }: { readonly detail: DetailState }): JSX.Element {
  if (detail.state === "loading") return <p class="empty soft">Being compared…</p>;
  if (detail.state === "refused") return <p class="empty soft">The difference could not be had: {detail.why}</p>;
  const { differences, differencesHidden } = detail.detail;
  if (differences === undefined)
    return <p class="empty soft">The difference is not shown{differencesHidden === undefined ? "." : `: ${differencesHidden}`}</p>;
  if (differences.length === 0)
    return (
      <p class="empty">
        <HealthMark health="healthy" text="No difference: the objects are as the checksum says." />
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
      <span class="tone-degraded tone-text">{directionWords[difference.direction]}</span>
      <code>{difference.name}</code>
      <span class="message">{difference.message}</span>
    </li>
  );
}
