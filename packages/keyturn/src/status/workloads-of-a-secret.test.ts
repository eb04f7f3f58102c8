// Workloads as `keyturn status` shows them: found by the names of what they use.
import { createLogger, Deployment, type Kind, keyOf, type KubeObject, type Stored, type Watch } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { readFlags } from "../feature/flag.ts";
import type { RecordScope } from "../feature/record.ts";
import { nowMs, report, statusWith } from "./credential-status.fixture.ts";
import { credentialStatusOf, parseSubject, placed } from "./credentials.ts";
import { reportsOf } from "./status-watches.ts";
import { ManualCache } from "../workloads/manual-cache.fixture.ts";
import { startedWithAnnotation } from "../controllers/consumers/annotations.ts";
import { consumersRecords } from "../controllers/consumers/records.ts";

const startedWith: Readonly<Record<string, string>> = {
  web: "secret/db/password=00,configmap/site=11",
  worker: "secret/db=00!",
  other: "secret/mail=00",
};

const scope: RecordScope = {
  watch: ((kind: Kind, { labels, keep }: { readonly labels?: string; readonly keep: (object: Stored<KubeObject>) => unknown }) => {
    const cache = new ManualCache<unknown>(kind);
    // None is rolling.
    for (const [name, text] of kind === Deployment && labels === undefined ? Object.entries(startedWith) : []) {
      const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1", annotations: { [startedWithAnnotation]: text } };
      cache.put(keyOf(metadata), keep({ metadata }));
    }
    return cache;
  }) as unknown as Watch,
  touch: () => {},
  clock: new VirtualClock(),
  log: createLogger({ level: "silent", destination: { write: () => {} } }),
  flag: (flag) => readFlags({ flag }, {}, {}).flag,
  viewer: "status",
  unserved: [],
};

/** Beside a target that writes the Secret. */
function found(subject: string): readonly string[] {
  const source = consumersRecords.watch(scope);
  const status = statusWith({ rotate: [report({ name: "db-live", about: ["db-live", "db"] })], "roll out": source ? reportsOf(source, nowMs) : [] });
  return placed(credentialStatusOf(status, parseSubject(subject))).map(
    ({ report: { ref, health, message } }) => `${ref.name}: ${health}, ${message}`,
  );
}

const behind = "worker: degraded, secret db has changed; `keyturn plan consumers` says what it waits for";
const current = "web: healthy, its pods were started with what it uses";

it("a Secret's status has the workloads that use it, with what they are behind with", () => {
  expect(found("db")).toEqual(["db-live: healthy, holds version 1", behind, current]);
  expect(found("secret/db")).toEqual(found("db"));
  expect(found("site")).toContain(current);
  expect(found("mail")).toEqual(["other: healthy, its pods were started with what it uses"]);
});
