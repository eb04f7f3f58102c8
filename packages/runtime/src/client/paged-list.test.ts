// A collection read page by page: every object once, and no page before it is wanted.
import { expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { Secret } from "./builtin-kinds.ts";
import { createClient } from "./kube-client.ts";
import { pagedList } from "./paged-list.ts";
import { scriptedTransport } from "./scripted-transport.fixture.ts";

const page = (names: readonly string[], token?: string) => ({
  status: 200,
  body: {
    metadata: { resourceVersion: "9", ...(token && { continue: token }) },
    items: names.map((name) => ({ metadata: { namespace: "shop", name } })),
  },
});

it("gives every object once, in the order of the pages, and asks for a page when the one before is used up", async () => {
  const transport = scriptedTransport(page(["a", "b"], "more"), page([], "most"), page(["c"]));
  const clock = new VirtualClock();
  const selection = { namespace: "shop", labels: "gateway=tao", fields: "type=kubernetes.io/tls" };
  const seen: string[] = [];
  for await (const { kind, metadata } of pagedList(Secret, { client: createClient(transport, { clock }), clock, selection })) {
    seen.push(`${kind} ${metadata.name} after ${transport.requests.length}`);
  }
  expect(seen).toEqual(["Secret a after 1", "Secret b after 1", "Secret c after 3"]);
  const query = "limit=500&labelSelector=gateway%3Dtao&fieldSelector=type%3Dkubernetes.io%2Ftls";
  const path = "/api/v1/namespaces/shop/secrets";
  expect(transport.requests.map((request) => request.path)).toEqual(
    ["", "&continue=more", "&continue=most"].map((rest) => `${path}?${query}${rest}`),
  );
});
