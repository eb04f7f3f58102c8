// What came over the wire cannot be read.

/** The bytes are not what the API server's content type promised. */
export class WireError extends Error {
  readonly code = "Wire";
  constructor(message: string) {
    super(message);
    this.name = "WireError";
  }
}
