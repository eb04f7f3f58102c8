import { describe, expect, it } from "vitest";
import { ConnectionError, type Transport } from "../client/transport.ts";
import { recordingTracer } from "./recording-tracer.fixture.ts";
import { traceTransport } from "./traced-transport.ts";

function answering(status: number): Transport {
  return { send: async () => ({ status, headers: {}, body: (async function* () {})() }), close() {} };
}

describe("traceTransport", () => {
  it("makes a span of a request, named after what was asked, with the answer's status", async () => {
    const { tracer, spans } = recordingTracer();
    await traceTransport(answering(200), tracer).send({ method: "GET", path: "/api/v1/namespaces/shop/secrets/signer" });
    expect(spans).toMatchObject([{ name: "get secrets", attributes: { "http.response.status_code": 200 }, ended: true }]);
  });

  it("makes none of a watch, which would last for minutes", async () => {
    const { tracer, spans } = recordingTracer();
    await traceTransport(answering(200), tracer).send({ method: "GET", path: "/api/v1/secrets?watch=true", lane: "watch" });
    expect(spans).toEqual([]);
  });

  it("marks a request without an answer as failed", async () => {
    const { tracer, spans } = recordingTracer();
    const broken: Transport = { send: () => Promise.reject(new ConnectionError("connection refused")), close() {} };
    await expect(traceTransport(broken, tracer).send({ method: "GET", path: "/version" })).rejects.toThrow("connection refused");
    expect(spans).toMatchObject([{ status: { message: expect.stringContaining("connection refused") as string }, ended: true }]);
  });
});
