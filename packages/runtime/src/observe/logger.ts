// The logger of a process: pino, as JSON or as lines for people, with every secret taken out before a line is made.
import { type Logger as PinoLogger, pino } from "pino";
import { type Clock, systemClock } from "../clock.ts";
import { errorFields, redactAndCut, redactData } from "./redaction.ts";

// The runtime's view of a logger; pino implements it.

/** Structured, levelled logging. Fields come first, as in pino. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line. */
  child(fields: object): Logger;
}

/** Where lines go; a file descriptor's stream, or a test's array. */
interface LogDestination {
  write(line: string): unknown;
  /** Whether a person reads along. */
  readonly isTTY?: boolean;
}

/** How to log. */
export interface LoggerOptions {
  /** The least level that is written. Default `info`. */
  readonly level?: "debug" | "info" | "warn" | "error" | "silent";
  /** `json` (default) for machines, `text` for people. */
  readonly format?: "json" | "text";
  /** Default: the standard output, written synchronously so that nothing is lost on exit. */
  readonly destination?: LogDestination;
  readonly clock?: Clock;
}

const maxMessage = 4000;

/**
 * Makes a logger. Secret material does not reach the destination, neither through fields nor messages, errors, their stacks or causes.
 * Errors among the fields are written with type, code, reason, message and causes; a stack only if they have no code.
 */
export function createLogger({ level = "info", format = "json", destination, clock = systemClock }: LoggerOptions = {}): Logger {
  const target = destination ?? pino.destination(1);
  const coloured = destination ? destination.isTTY === true : process.stdout.isTTY && !process.env.NO_COLOR;
  // The line is JSON that pino has just made.
  const stream = format === "json" ? target : { write: (line: string) => target.write(textLine(JSON.parse(line) as LineFields, coloured)) };
  const root = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (value: unknown) => value },
    },
    stream,
  );
  return wrap(root, () => root);
}

/** `make` is called for the first line that is written: every run of a controller has a child, and most write none. */
function wrap(root: PinoLogger, make: () => PinoLogger): Logger {
  let made: PinoLogger | undefined;
  const logger = (): PinoLogger => (made ??= make());
  const at =
    (level: "debug" | "info" | "warn" | "error") =>
    (fields: object, message: string): void => {
      if (root.isLevelEnabled(level)) logger()[level](safeFields(fields), redactAndCut(message, maxMessage));
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => wrap(root, () => logger().child(safeFields(fields))),
  };
}

/** Fields as plain data; an Error given in place of fields becomes the field `err`. */
function safeFields(fields: object): object {
  const safe = redactData(fields instanceof Error ? { err: fields } : fields, (error) => errorFields(error));
  return typeof safe === "object" && safe !== null && !Array.isArray(safe) ? safe : { value: safe };
}

// Log lines for people: time, level, message, fields, and a stack below if there is one.

/** What a line is made of, as pino hands it over. */
type LineFields = Readonly<Record<string, unknown>>;

const paint: Readonly<Record<string, string>> = { debug: "\u001B[2m", info: "\u001B[32m", warn: "\u001B[33m", error: "\u001B[31m" };
const dim = "\u001B[2m";
const plain = "\u001B[0m";

/** One line of text with a line end. */
function textLine(fields: LineFields, coloured: boolean): string {
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
