// One request and its answer while they are under way: can be stalled and cut at any moment.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ProxyResponse } from "./fault.ts";
import { Gate } from "./gate.ts";
import type { RequestLine } from "./proxied-request.ts";

/** How a connection ends: `reset` as when a machine or a NAT in between goes away, `close` as when a server exits. */
export type CutManner = "reset" | "close";

/** An exchange under way. Its connection's end aborts `signal`. */
export class Exchange {
  readonly line: RequestLine;
  /** Shut while the exchange is stalled. */
  readonly gate = new Gate();
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #ended = new AbortController();

  constructor(line: RequestLine, response: ServerResponse, socket: Socket) {
    this.line = line;
    this.#response = response;
    this.#socket = socket;
    response.once("close", () => {
      this.#ended.abort();
      this.gate.open();
    });
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Breaks the client's connection. */
  cut(manner: CutManner = "reset"): void {
    if (manner === "reset") this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }

  /** Passes the answer on, piece by piece as it comes, waiting at the gate before each. */
  async relay({ status, headers, body }: ProxyResponse): Promise<void> {
    await this.gate.passed();
    this.#response.writeHead(
      status,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])),
    );
    this.#response.flushHeaders();
    for await (const chunk of body) {
      await this.gate.passed();
      this.signal.throwIfAborted();
      if (!this.#response.write(chunk)) await once(this.#response, "drain", { signal: this.signal });
    }
    await this.gate.passed();
    this.#response.end();
  }
}
