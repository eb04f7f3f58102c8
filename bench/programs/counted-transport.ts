// A transport that tells of every request it sends.
import type { Transport } from "@keyturn/runtime";

/** Sends as the given one does, and calls `onRequest` each time. */
export function countedTransport(transport: Transport, onRequest: () => void): Transport {
  return {
    send(request, signal) {
      onRequest();
      return transport.send(request, signal);
    },
    close: () => transport.close(),
  };
}
