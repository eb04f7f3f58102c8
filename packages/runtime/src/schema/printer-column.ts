// A column of `kubectl get` for a custom kind.

/** One column; see additionalPrinterColumns of a CRD. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  readonly format?: string;
  /** 0 (default) is always shown, more only with `-o wide`. */
  readonly priority?: number;
}

/** How old the object is, as kubectl shows it for kinds without columns of their own. */
export const ageColumn: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** The reason of one condition, such as `Published`. */
export function reasonColumn(type: string, column: Partial<PrinterColumn> = {}): PrinterColumn {
  const description = `Why it is or is not ${type.toLowerCase()}`;
  return { name: "Reason", type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].reason`, description, ...column };
}

/** The status of one condition, such as `True`. */
export function conditionColumn(type: string, column: Partial<PrinterColumn> = {}): PrinterColumn {
  return { name: type, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].status`, ...column };
}
