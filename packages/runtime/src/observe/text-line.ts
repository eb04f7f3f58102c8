// Log lines for people: time, level, message, fields, and a stack below if there is one.

/** What a line is made of, as pino hands it over. */
export type LineFields = Readonly<Record<string, unknown>>;

const paint: Readonly<Record<string, string>> = { debug: "\u001B[2m", info: "\u001B[32m", warn: "\u001B[33m", error: "\u001B[31m" };
const dim = "\u001B[2m";
const plain = "\u001B[0m";

/** One line of text with a line end. */
export function textLine(fields: LineFields, coloured: boolean): string {
  const { time, level, msg, ...rest } = fields;
  const name = String(level);
  const painted = (code: string | undefined, text: string): string => (coloured && code ? `${code}${text}${plain}` : text);
  const stacks: string[] = [];
  const pairs = Object.entries(rest).map(([key, value]) => `${painted(dim, `${key}=`)}${valueText(value, stacks)}`);
  const clockTime = typeof time === "string" ? time.slice(11, 23) : "";
  const head = [painted(dim, clockTime), painted(paint[name], name.toUpperCase().padEnd(5)), typeof msg === "string" ? msg : ""].join(" ");
  return `${[head, ...pairs].join(" ")}\n${stacks.map((stack) => `${stack}\n`).join("")}`;
}

function valueText(value: unknown, stacks: string[]): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (isErrorFields(value)) return JSON.stringify(errorText(value, stacks));
  return JSON.stringify(value) ?? "undefined";
}

interface PrintedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: PrintedError;
}

function isErrorFields(value: unknown): value is PrintedError {
  return typeof value === "object" && value !== null && "message" in value && "type" in value;
}

function errorText({ message, stack, cause }: PrintedError, stacks: string[]): string {
  if (stack) stacks.push(stack);
  return cause ? `${message}: ${errorText(cause, stacks)}` : message;
}
