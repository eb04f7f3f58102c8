// What a command gets from the process it runs in. Passed in, so that commands can be run by tests.

/** The outside of a command. */
export interface Console {
  /** How the person called the program, for usage texts. Default `keyturn`. */
  readonly program?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** How many lines `out` shows, if it is a terminal: redrawing is welcome there. Undefined for files and pipes. */
  readonly height: () => number | undefined;
  /** Aborts when the process is asked to stop (SIGINT, SIGTERM). */
  readonly signal: AbortSignal;
}
