// The logger of a process: pino, with every secret taken out before a line is made.
import { pino } from "pino";
import type { Logger as PinoLogger } from "pino";
import type { Clock } from "../clock.ts";
import { systemClock } from "../clock.ts";
import { errorFields } from "./error-fields.ts";
import type { Logger } from "./logger.ts";
import { redactAndCut, redactData } from "./redact.ts";
import { textLine } from "./text-line.ts";
import type { LineFields } from "./text-line.ts";

/** Where lines go; a file descriptor's stream, or a test's array. */
export interface LogDestination {
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

const longestMessage = 4000;

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
      if (root.isLevelEnabled(level)) logger()[level](safeFields(fields), redactAndCut(message, longestMessage));
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
