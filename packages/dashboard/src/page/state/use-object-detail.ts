// What the server knows of one object beyond its record: asked for when somebody looks, and again when the record changes.
import { useEffect, useState } from "preact/hooks";
import { type ObjectDetail, objectPath } from "../../contract/index.ts";
import type { ObjectName } from "../route/route.ts";
import { objectDetailOf, refusalOf } from "../stream/answers.ts";
import { usePage } from "./page.ts";

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
