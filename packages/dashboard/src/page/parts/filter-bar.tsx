// Searches a list and narrows it by health. What is chosen is part of the address.
import type { ComponentChildren, JSX } from "preact";
import { type Health, healthOrder } from "../../contract/index.ts";
import { countTables } from "../record-list.ts";
import { usePage } from "../page-state.ts";
import { HealthMark } from "./health-mark.tsx";

export function FilterBar({
  tables,
  shown,
  noun,
  children,
}: {
  /** All there are, table by table. */
  readonly tables: readonly (readonly { readonly health: Health }[])[];
  readonly shown: number;
  readonly noun: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { navigation } = usePage();
  const { search, health } = navigation.route.value;
  const counts = countTables(...tables);
  const count = tables.reduce((sum, table) => sum + table.length, 0);
  return (
    <search class="filter-bar">
      <div class="search">
        <input
          id="search"
          type="search"
          aria-label={`Search ${noun}`}
          placeholder="Name, namespace, reason…"
          value={search}
          onInput={(event) => navigation.adjust({ search: event.currentTarget.value })}
        />
        <kbd aria-hidden="true">/</kbd>
      </div>
      <div class="button-row" role="group" aria-label="Health">
        <HealthButton chosen={health === "all"} onChoose={() => navigation.adjust({ health: "all" })} label={`All ${count}`}>
          All <span class="faint">{count}</span>
        </HealthButton>
        {healthOrder
          .filter((name) => counts[name] > 0 || health === name)
          .map((name) => (
            <HealthButton key={name} chosen={health === name} onChoose={() => navigation.adjust({ health: name })} label={`${name}, ${counts[name]}`}>
              <HealthMark health={name} quiet /> <span>{counts[name]}</span>
            </HealthButton>
          ))}
      </div>
      <span class="hidden-text" role="status">
        {shown} of {count} {noun}
      </span>
      {children}
    </search>
  );
}

function HealthButton({
  chosen,
  onChoose,
  label,
  children,
}: {
  readonly chosen: boolean;
  readonly onChoose: () => void;
  readonly label: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <button type="button" class="button" aria-pressed={chosen} aria-label={label} title={label} onClick={onChoose}>
      {children}
    </button>
  );
}
