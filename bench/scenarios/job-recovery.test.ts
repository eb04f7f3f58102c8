// How many requests fail, and how.
import { seededRandom } from "@keyturn/runtime";
import type { ProxiedRequest, ProxyResponse } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { randomFaults } from "./job-recovery.ts";

const request: ProxiedRequest = {
  method: "GET",
  path: "/",
  query: new URLSearchParams(),
  headers: {},
  body: Buffer.alloc(0),
  isWatch: false,
  isWrite: false,
};

/** What happened to so many requests: a status, or whether a cut one had reached the server. */
async function fates(seed: number, count: number): Promise<readonly string[]> {
  const fault = randomFaults(seededRandom(seed), 0.1);
  const seen: string[] = [];
  for (let index = 0; index < count; index++) {
    let served = false;
    const serve = (): Promise<ProxyResponse> => {
      served = true;
      return Promise.resolve({ status: 200, headers: {}, body: (async function* () {})() });
    };
    const status = await fault.intervene(request, serve).then(
      (response) => String(response.status),
      () => (served ? "cut after" : "cut before"),
    );
    seen.push(status);
  }
  return seen;
}

test("a tenth of the requests fail, in each of four ways", async () => {
  const seen = await fates(1, 8000);
  const share = (fate: string): number => seen.filter((one) => one === fate).length / seen.length;
  expect(share("200")).toBeCloseTo(0.9, 1);
  for (const fate of ["500", "429", "cut before", "cut after"]) expect(share(fate)).toBeCloseTo(0.025, 2);
});

test("the same seed gives the same fates", async () => {
  expect(await fates(7, 200)).toEqual(await fates(7, 200));
  expect(await fates(7, 200)).not.toEqual(await fates(8, 200));
});
