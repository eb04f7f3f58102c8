import { expect, test } from "vitest";
import { requestsIn } from "./request-count.ts";

test("counts requests of some resources, and no watches", () => {
  const text = [
    'apiserver_request_total{code="201",resource="configmaps",verb="POST"} 3',
    'apiserver_request_total{code="200",resource="secrets",verb="PATCH"} 1.5e+02',
    'apiserver_request_total{code="200",resource="secrets",verb="WATCH"} 7',
    'apiserver_request_total{code="200",resource="pods",verb="LIST"} 9',
    'apiserver_request_total_other{code="200",resource="secrets",verb="LIST"} 9',
  ].join("\n");
  expect(requestsIn(text, ["secrets", "configmaps"])).toBe(153);
});
