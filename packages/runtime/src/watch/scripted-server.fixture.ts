// A transport whose answers a test writes, for driving a reflector in virtual time.
import type { Transport, TransportRequest, TransportResponse } from "../client/transport.ts";

/** A request that the reflector has made and that the test answers. */
interface Exchange {
  readonly request: TransportRequest;
  readonly query: URLSearchParams;
  /** True once the reflector gave it up. */
  readonly aborted: boolean;
  /** Answers with a status; the body stays open until `end` or `cut`. */
  answer(status: number, headers?: Readonly<Record<string, string>>): void;
  /** Fails without an answer. */
  refuseConnection(): void;
  /** Sends one JSON line. */
  line(value: unknown): void;
  send(bytes: Uint8Array): void;
  end(): void;
  cut(): void;
}

type Item = { readonly type: "bytes"; readonly bytes: Uint8Array } | { readonly type: "end" } | { readonly type: "error"; readonly error: Error };

/** Collects what is requested; each exchange is answered by hand. */
export class ScriptedServer implements Transport {
  readonly exchanges: Exchange[] = [];

  /** The latest request. */
  get last(): Exchange {
    const last = this.exchanges.at(-1);
    if (!last) throw new Error("nothing has been requested");
    return last;
  }

  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      const items: Item[] = [];
      let wake: (() => void) | undefined;
      const put = (item: Item): void => {
        items.push(item);
        wake?.();
      };
      signal?.addEventListener("abort", () => {
        reject(signal.reason);
        put({ type: "error", error: signal.reason instanceof Error ? signal.reason : new Error("aborted") });
      });
      const body = async function* (): AsyncGenerator<Uint8Array> {
        for (;;) {
          const item = items.shift();
          if (item?.type === "end") return;
          if (item?.type === "error") throw item.error;
          if (item) yield item.bytes;
          else await new Promise<void>((resume) => (wake = resume));
        }
      };
      this.exchanges.push({
        request,
        query: new URLSearchParams(request.path.split("?")[1] ?? ""),
        get aborted() {
          return signal?.aborted ?? false;
        },
        answer: (status, headers = { "content-type": "application/json" }) => resolve({ status, headers, body: body() }),
        refuseConnection: () => reject(new Error("connect ECONNREFUSED")),
        line: (value) => put({ type: "bytes", bytes: Buffer.from(`${JSON.stringify(value)}\n`) }),
        send: (bytes) => put({ type: "bytes", bytes }),
        end: () => put({ type: "end" }),
        cut: () => put({ type: "error", error: new Error("socket hang up") }),
      });
    });
  }

  close(): void {
    for (const exchange of this.exchanges) exchange.cut();
  }
}

/** A bookmark line; with `end`, the one that ends the initial events. */
export function bookmarkLine(resourceVersion: string, end = false): object {
  const annotations = end ? { "k8s.io/initial-events-end": "true" } : undefined;
  return { type: "BOOKMARK", object: { kind: "Widget", metadata: { resourceVersion, annotations } } };
}

/** An event line about one object. */
export function objectLine(type: "ADDED" | "MODIFIED" | "DELETED", name: string, resourceVersion: string, fields: object = {}): object {
  return {
    type,
    object: { kind: "Widget", apiVersion: "example.com/v1", metadata: { namespace: "ns", name, uid: `uid-${name}`, resourceVersion }, ...fields },
  };
}

/** The body of a list. */
export function listBody(resourceVersion: string, names: readonly string[], token?: string): Buffer {
  const items = names.map((name) => ({ metadata: { namespace: "ns", name, uid: `uid-${name}`, resourceVersion } }));
  return Buffer.from(JSON.stringify({ kind: "WidgetList", metadata: { resourceVersion, continue: token }, items }));
}
