// The way through the page: the five steps, each with how it fares.
import type { JSX } from "preact";
import { stepHealth } from "../list/doubt.ts";
import { countHealth } from "../list/record-filter.ts";
import { formatRoute, home } from "../route/route.ts";
import { usePage } from "../state/page.ts";
import { stepInfos } from "../views/step-info.ts";
import { allTables } from "../views/step-records.ts";
import { HealthMark } from "./health-mark.tsx";

export function StepFlow(): JSX.Element {
  const { live, navigation } = usePage();
  const { view } = navigation.route.value;
  return (
    <nav class="flow" aria-label="The five steps">
      <ol>
        {stepInfos.map((info) => {
          const record = live.tables.step.value.find(({ step }) => step === info.step);
          return (
            <li key={info.step}>
              <a href={formatRoute({ ...home, view: info.view })} aria-current={view === info.view ? "page" : undefined}>
                <HealthMark health={stepHealth(record, live.connection.value, countHealth(...allTables(live.tables, info.step)))} quiet />
                {info.verb}
              </a>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
