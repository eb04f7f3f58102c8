// For tests: who is notified, on this machine.
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";

/** A request as it arrived. */
interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How to answer. Default: 200 and nothing more. */
interface ReceiverAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Where to listen. Default 127.0.0.1. */
  readonly host?: string;
}

/** A running receiver. */
interface Receiver extends AsyncDisposable {
  /** Without a path. */
  readonly url: string;
  readonly received: readonly Received[];
}

export async function startReceiver({ status = 200, headers = {}, body = "", host = "127.0.0.1" }: ReceiverAnswer = {}): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: string[] = [];
    request.setEncoding("utf8").on("data", (chunk: string) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ method: request.method, path: request.url, headers: request.headers, body: chunks.join("") });
      response.writeHead(status, headers).end(body);
    });
  });
  server.listen(0, host);
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the receiver listens on no port");
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
