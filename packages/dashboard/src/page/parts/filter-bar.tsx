// Searches a list and narrows it by health. What is chosen is part of the address.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { healthOrder, type ObjectRecord } from "../../contract/index.ts";
import { countTables, namespacesOf } from "../record-list.ts";
import { usePage } from "../page-state.ts";
import { HealthMark } from "./health-mark.tsx";

/** So many namespaces are offered to choose from; the search finds the others. */
const mostOffered = 200;

export function FilterBar({
  tables,
  shown,
  noun,
  children,
}: {
  /** All there are, table by table. */
  readonly tables: readonly (readonly ObjectRecord[])[];
  readonly shown: number;
  readonly noun: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  const { navigation } = usePage();
  const { search, health, namespace } = navigation.route.value;
  const namespaces = useMemo(() => namespacesOf(tables), tables);
  const some = namespaces.slice(0, mostOffered);
  const offered = namespace === "" || some.includes(namespace) ? some : [namespace, ...some];
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
      {namespaces.length > 1 || namespace !== "" ? (
        <select
          class="button"
          aria-label="Namespace"
          value={namespace}
          onChange={(event) => navigation.adjust({ namespace: event.currentTarget.value })}
        >
          <option value="">All namespaces</option>
          {offered.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      ) : null}
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
