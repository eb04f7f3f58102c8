// Contents are read in pages, for as long as a slow disk takes: a list that expires meanwhile is begun again, for what is still missing.
import { Buffer } from "node:buffer";
import { createClient, type Transport } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { defaultVersionAnnotation } from "../controllers/checksum/ids.ts";
import { secretSelection } from "../controllers/checksum/member-kind.ts";
import type { ScopeChoice } from "../controllers/checksum/scopes.ts";
import { secretSource } from "./observe.ts";

const never = new AbortController().signal;
const pageSize = 200;

/** Work that takes time: each Secret that is written takes a step. */
interface SlowDisk {
  steps: number;
}

/** An API server with Secrets `web-0` … in each namespace, which remembers a list for so many steps. */
function pagedServer(secrets: number, disk: SlowDisk, remembersFor: number): Transport & { readonly requests: readonly string[] } {
  const requests: string[] = [];
  return {
    requests,
    async send({ path }) {
      requests.push(path);
      const [from = 0, begunAt = disk.steps] = (new URL(path, "https://server").searchParams.get("continue") ?? "")
        .split("@")
        .filter(Boolean)
        .map(Number);
      const isExpired = disk.steps - begunAt > remembersFor;
      const items = Array.from({ length: Math.min(pageSize, secrets - from) }, (_, index) => ({
        metadata: { name: `web-${from + index}` },
        data: { "tls.crt": Buffer.from(`${from + index}`).toString("base64") },
      }));
      const more = from + pageSize < secrets ? { continue: `${from + pageSize}@${begunAt}` } : {};
      const bytes = Buffer.from(JSON.stringify(isExpired ? { kind: "Status", reason: "Expired", code: 410 } : { metadata: more, items }));
      return {
        status: isExpired ? 410 : 200,
        headers: { "content-type": "application/json" },
        body: (async function* () {
          yield bytes;
        })(),
      };
    },
    close: () => undefined,
  };
}

function sourceOn(transport: Transport, scopeChoice: ScopeChoice) {
  const scope = {
    home: "shop",
    scopeChoice,
    keys: undefined,
    rules: { versionAnnotations: [defaultVersionAnnotation] },
    selection: secretSelection("all", undefined),
  };
  return secretSource(createClient(transport), scope, never);
}

const single: ScopeChoice = { choice: { type: "named", names: [] }, rule: { type: "namespace" } };

async function namesFrom(source: ReturnType<typeof sourceOn>, names: readonly string[], disk: SlowDisk): Promise<readonly string[]> {
  const read: string[] = [];
  for await (const { name } of source(new Set(names))) {
    read.push(name);
    disk.steps++;
  }
  return read;
}

test("a list that expires again and again ends with every Secret read once", async () => {
  const names = Array.from({ length: 2000 }, (_, index) => `web-${index}`);
  const disk = { steps: 0 };
  const transport = pagedServer(2000, disk, 500);
  expect((await namesFrom(sourceOn(transport, single), names, disk)).toSorted()).toEqual(names.toSorted());
  expect(transport.requests.filter((path) => !path.includes("continue")).length).toBeGreaterThan(2);
  // The exclusions are the operator's.
  expect(decodeURIComponent(transport.requests[0] ?? "")).toContain(
    "fieldSelector=type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token",
  );
});

test("a list that expires before anything new was read is given up for now", async () => {
  const names = Array.from({ length: 150 }, (_, index) => `web-${1000 + index}`);
  const disk = { steps: 0 };
  await expect(namesFrom(sourceOn(pagedServer(2000, disk, -1), single), names, disk)).rejects.toMatchObject({ status: 410 });
});

test("of several namespaces each Secret is read where it is", async () => {
  const wide: ScopeChoice = { choice: { type: "named", names: ["bank", "shop"] }, rule: { type: "all", publishIn: "shop" } };
  const names = ["bank", "shop"].flatMap((namespace) => Array.from({ length: 150 }, (_, index) => `${namespace}/web-${index}`));
  const disk = { steps: 0 };
  const transport = pagedServer(200, disk, 1000);
  expect((await namesFrom(sourceOn(transport, wide), names, disk)).toSorted()).toEqual(names.toSorted());
  expect(transport.requests.map((path) => path.split("?")[0])).toEqual(["/api/v1/namespaces/bank/secrets", "/api/v1/namespaces/shop/secrets"]);
});
