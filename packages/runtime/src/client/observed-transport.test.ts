// Every request is told of once.
import { expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { observeTransport, type RequestObservation } from "./observed-transport.ts";
import { scriptedTransport } from "./scripted-transport.fixture.ts";
import { ConnectionError } from "./transport.ts";

it("reports answers and failures, with what they were about and how long they took", async () => {
  const clock = new VirtualClock();
  const seen: RequestObservation[] = [];
  const scripted = scriptedTransport({ status: 200 }, { status: 409 }, new ConnectionError("reset"));
  const slow = {
    ...scripted,
    async send(...args: Parameters<typeof scripted.send>) {
      await clock.advance(5);
      return scripted.send(...args);
    },
  };
  const transport = observeTransport(slow, { clock, onRequest: (request) => seen.push(request) });
  await transport.send({ method: "GET", path: "/api/v1/secrets?watch=1" });
  await transport.send({ method: "PATCH", path: "/apis/apps/v1/namespaces/a/deployments/b" });
  await expect(transport.send({ method: "GET", path: "/readyz" })).rejects.toThrow("reset");
  expect(seen).toEqual([
    { method: "GET", resource: "secrets", verb: "watch", status: 200, durationMs: 5 },
    { method: "PATCH", resource: "deployments.apps", verb: "patch", status: 409, durationMs: 5 },
    { method: "GET", resource: "", verb: "get", status: undefined, durationMs: 5 },
  ]);
});
