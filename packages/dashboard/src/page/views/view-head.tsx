// The heading of a step's view, with what keeps it from showing everything.
import type { ComponentChildren, JSX } from "preact";
import type { ViewName } from "../route/route.ts";
import { isShown } from "../list/doubt.ts";
import { HealthMark } from "../parts/health-mark.tsx";
import { usePage } from "../state/page.ts";
import { stepInfos } from "./step-info.ts";

export function ViewHead({ view, children }: { readonly view: ViewName; readonly children?: ComponentChildren }): JSX.Element | null {
  const info = stepInfos.find((candidate) => candidate.view === view);
  if (info === undefined) return null;
  return (
    <>
      <header class="view-head">
        <div>
          <h1>{info.title}</h1>
          <p>{info.summary}</p>
        </div>
        {children}
      </header>
      <StepNotices view={view} />
    </>
  );
}

function StepNotices({ view }: { readonly view: ViewName }): JSX.Element | null {
  const { live } = usePage();
  const step = stepInfos.find((info) => info.view === view)?.step;
  const record = live.tables.step.value.find((candidate) => candidate.step === step);
  if (record === undefined) return null;
  return (
    <>
      {record.state === "off" ? <Notice health="unknown">This controller is not switched on in this operator.</Notice> : null}
      {isShown(record) && record.leader !== undefined && record.leader.state !== "led" ? (
        <Notice health="warning">
          {record.leader.state === "none" ? "No operator leads this step" : "Whether an operator leads this step is not known"}:{" "}
          {record.leader.message}.
        </Notice>
      ) : null}
      {record.hidden.length > 0 ? (
        <Notice health="waiting">
          You may not see these, so they are left out: {record.hidden.join(", ")}. It takes the rights to list and watch them.
        </Notice>
      ) : null}
      {record.troubles.map((trouble) => (
        <Notice key={`${trouble.resource}/${trouble.namespace ?? ""}`} health={trouble.state === "syncing" ? "busy" : "warning"}>
          {troubleWords[trouble.state]}: {trouble.resource}
          {trouble.namespace === undefined ? "" : ` in ${trouble.namespace}`}. {trouble.message}
        </Notice>
      ))}
    </>
  );
}

const troubleWords = {
  missing: "Not installed",
  forbidden: "A right is missing",
  retrying: "The API server does not answer",
  syncing: "Being listed",
} as const;

function Notice({
  health,
  children,
}: {
  readonly health: "unknown" | "waiting" | "busy" | "warning";
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <p class={`notice tone-${health}`}>
      <HealthMark health={health} quiet />
      <span>{children}</span>
    </p>
  );
}
