// The bytes of a request.
import type { TransportRequest } from "../transport.ts";

/** What a request says. */
export interface RequestParts {
  readonly method: TransportRequest["method"];
  /** Path and query. */
  readonly path: string;
  /** Host and, where it is not the scheme's own, port. */
  readonly host: string;
  /** Several values give several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | undefined;
}

/** Anything else in a path could be read as the end of the line, or of the request. */
const unfitForPath = /[^\x21-\x7e]/;
const unfitForName = /[^!#$%&'*+\-.^_`|~0-9a-z]/i;
const unfitForValue = /[^\t\x20-\x7e]/;

/** The whole request, head and body. Throws a `TypeError` for what cannot be in a head; it names the header and does not show its value. */
export function requestText({ method, path, host, headers, body }: RequestParts): string {
  if (unfitForPath.test(path)) throw new TypeError("the path has characters that a request cannot carry");
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    const values = headers[name];
    if (values === undefined) continue;
    if (typeof values === "string") head += headerLine(name, values);
    else for (const value of values) head += headerLine(name, value);
  }
  return body === undefined ? `${head}\r\n` : `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function headerLine(name: string, value: string): string {
  if (name === "" || unfitForName.test(name)) throw new TypeError(`a header cannot have the name ${JSON.stringify(name)}`);
  if (unfitForValue.test(value)) throw new TypeError(`the header ${name} has characters that a request cannot carry`);
  return `${name}: ${value}\r\n`;
}
