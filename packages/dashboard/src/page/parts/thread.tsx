// One credential's thread: every object of every step that has to do with the one that is looked at, in the order in which a credential passes through them.
import type { JSX } from "preact";
import { isAbout, type ObjectReport, threadOf } from "../../contract/index.ts";
import { tablesOf, usePage, useStages, viewOf } from "../page-state.ts";
import { formatRoute, home, type ObjectName } from "../route.ts";
import { HealthMark } from "./health-mark.tsx";
import { Moment, ObjectLink } from "./inline.tsx";

/** An object, and the step that it belongs to. */
interface ThreadPart {
  readonly step: string;
  readonly verb: string;
  readonly view: string;
  readonly objects: readonly ObjectReport[];
}

/** More of one step are counted. */
const mostOfStep = 12;

/** The thread of an object, whether or not it has a record: a Secret has none, and others are about it. Steps that have no part in it are left out. */
export function useThread(name: ObjectName): readonly ThreadPart[] {
  const { live } = usePage();
  const stages = useStages();
  const steps = stages.map((stage) => ({
    perNamespace: stage.perNamespace === true,
    objects: tablesOf(live, stage)
      .flat()
      .flatMap((record): readonly ObjectReport[] => record.lanes ?? [record]),
  }));
  const threads = threadOf(steps, (object) => isAbout(object, name));
  return stages.flatMap((stage, index) => {
    const objects = threads[index] ?? [];
    return objects.length === 0 ? [] : [{ step: stage.step, verb: stage.verb, view: viewOf(stage), objects }];
  });
}

export function Thread({ parts, of }: { readonly parts: readonly ThreadPart[]; readonly of: ObjectName }): JSX.Element {
  return (
    <section class="section" aria-labelledby="thread">
      <h2 id="thread">This credential, step by step</h2>
      <ol class="panel thread">
        {parts.map(({ step, verb, view, objects }) => (
          <li key={step}>
            <a class="thread-step" href={formatRoute({ ...home, view })}>
              {verb}
            </a>
            <ul>
              {objects.slice(0, mostOfStep).map((object) => (
                <li key={`${object.ref.resource}/${object.ref.name}`}>
                  <ThreadObject object={object} isHere={object.ref.resource === of.resource && object.ref.name === of.name} />
                </li>
              ))}
              {objects.length > mostOfStep ? <li class="faint">and {objects.length - mostOfStep} more</li> : null}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

function ThreadObject({ object, isHere }: { readonly object: ObjectReport; readonly isHere: boolean }): JSX.Element {
  const { ref, health, reason, detail, next } = object;
  return (
    <>
      <HealthMark health={health} quiet />
      <span class="what">
        {isHere ? <strong aria-current="true">{ref.name}</strong> : <ObjectLink to={ref} />} <span class="faint">{ref.kind}</span> {reason}
        {detail === "" ? null : <span class="soft"> · {detail}</span>}
        {next === undefined ? null : (
          <span class="soft">
            {" · "}
            <Moment at={next.atMs} />: {next.what}
          </span>
        )}
      </span>
    </>
  );
}
