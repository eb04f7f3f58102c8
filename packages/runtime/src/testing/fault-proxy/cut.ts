// A fault that breaks connections at a chosen point of an exchange.
import { CutConnection, scopeOf } from "./fault.ts";
import type { Fault, FaultScope } from "./fault.ts";

/** When to cut: the API server has not heard of the request; it has acted on it and the client hears nothing; the client has got that many bytes of the answer. */
export type CutPoint = "before" | "after" | { readonly bytes: number };

/** Cuts the connections of matching requests. */
export function cutAt(point: CutPoint, scope: FaultScope = {}): Fault {
  return {
    ...scopeOf(scope),
    async intervene(request, next) {
      if (point === "before") throw new CutConnection();
      const response = await next(request);
      if (point === "after") throw new CutConnection();
      return { ...response, body: firstBytes(response.body, point.bytes) };
    },
  };
}

async function* firstBytes(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw new CutConnection();
  }
}
