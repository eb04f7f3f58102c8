// Draws any cell of any table.
import type { ComponentChildren, JSX } from "preact";
import { type Cell, isDoubted, type ObjectRecord, type TableLayout } from "../../contract/index.ts";
import { HealthMark } from "./health-mark.tsx";
import { MiddleText, Moment, ObjectLink } from "./inline.tsx";
import type { Column } from "./virtual-table.tsx";

/** The columns of a table, as it is laid out. */
export function cellColumns({ columns = [] }: TableLayout): readonly Column<ObjectRecord>[] {
  return columns.map(({ id, title, width, phone }) => ({
    id,
    title,
    width,
    ...(phone && { phone }),
    cell: (record, tabIndex) => <CellLines record={record} cell={record.cells[id]} tabIndex={tabIndex} />,
  }));
}

interface CellProps {
  readonly record: ObjectRecord;
  readonly cell: Cell | undefined;
  readonly tabIndex: number;
}

function CellLines({ record, cell, tabIndex }: CellProps): JSX.Element | null {
  if (cell === undefined) return null;
  const { sub, subLook, onPhone } = cell;
  const main = mainOf(cell, record, tabIndex);
  return (
    <>
      {onPhone === undefined ? (
        main
      ) : (
        <span>
          <span class="phone-only">{onPhone} </span>
          {main}
        </span>
      )}
      {sub === undefined ? null : <span class={subLook === "mono" ? "sub mono" : "sub"}>{valueOf(sub)}</span>}
    </>
  );
}

function mainOf({ main, look }: Cell, record: ObjectRecord, tabIndex: number): JSX.Element {
  const { ref, health, reason } = record;
  switch (look) {
    case "link":
      return (
        <ObjectLink to={ref} tabIndex={tabIndex} {...(typeof main === "string" && { label: main })}>
          {typeof main === "string" ? <MiddleText text={main} /> : valueOf(main)}
        </ObjectLink>
      );
    case "health":
      // What was said last is not so for certain any more.
      return <HealthMark health={health} text={isDoubted(record) || typeof main !== "string" ? reason : main} />;
    case "mono":
    case "faint":
      return <span class={look}>{valueOf(main)}</span>;
    case undefined:
    default:
      return <span title={typeof main === "string" ? main : undefined}>{valueOf(main)}</span>;
  }
}

function valueOf(value: Cell["main"]): ComponentChildren {
  return typeof value === "string" ? value : <Moment at={value.atMs} />;
}
