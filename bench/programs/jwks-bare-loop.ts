// The limit for the JWKS controller: the same writes and Events, known beforehand, sent by as many workers as the controller has, with nothing watched, compared or checked.
import {
  addFinalizer,
  apiVersionOf,
  createClient,
  createHttpTransport,
  Event,
  fieldManagerOf,
  type Kind,
  type KubeObject,
  type ReportedStatus,
  Secret,
  statusAfter,
  type Stored,
  writeStatus,
} from "@keyturn/runtime";
import * as z from "zod";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { keepCertificateSecret } from "../../packages/keyturn/src/public-key.ts";
import { jwksFinalizer } from "../../packages/keyturn/src/controllers/jwks/controller.ts";
import { nginxInstallation } from "../../packages/keyturn/src/controllers/jwks/flags.ts";
import { planJwks } from "../../packages/keyturn/src/controllers/jwks/plan.ts";
import { settingsOfJwksConfig } from "../../packages/keyturn/src/controllers/jwks/settings.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { forEachIndex } from "../worlds/seeding.ts";
import { benchConnection, endWithInput, report } from "./contestant.ts";

const { namespace } = z.object({ namespace: z.string() }).parse(JSON.parse(process.argv[2] ?? ""));
const statusKind: Kind<KubeObject & { readonly status?: ReportedStatus }> = JWKSConfig;
const installation = nginxInstallation((flag) => flag.parse(flag.name === "jwks.serving" ? "true" : undefined));
const fieldManager = fieldManagerOf(keyturn, "jwks");
const briefly = { answer: "metadata" } as const;

endWithInput();
const client = createClient(createHttpTransport(await benchConnection()));
const secrets = new Map((await client.list(Secret, { namespace })).items.map((secret) => [secret.metadata.name, keepCertificateSecret(secret)]));
const writes = (await client.list<JWKSConfig>(JWKSConfig, { namespace })).items.map(writesFor);
const startedMs = performance.now();
await forEachIndex(writes.length, async (index) => await writes[index]?.());
report({ type: "done", ms: performance.now() - startedMs });

/** Plans beforehand what the object wants; the returned function sends it. */
function writesFor(object: Stored<JWKSConfig>): () => Promise<void> {
  const nowMs = Date.now();
  const settings = settingsOfJwksConfig(object, installation);
  const plan = planJwks(
    {
      kind: JWKSConfig,
      object,
      settings,
      secrets,
      passed: new Map(),
      merged: new Map(),
      passedMerged: new Map(),
      owned: [],
      pods: undefined,
      configMapIntervalMs: 0,
    },
    { nowMs, refused: new Map() },
  );
  return async () => {
    await addFinalizer<JWKSConfig>({ client }, { kind: JWKSConfig, object }, jwksFinalizer);
    for (const write of plan.steps) if (write.verb === "apply") await client.apply(write.kind, write.object, { fieldManager, ...briefly });
    const statuses = plan.status.map((report) =>
      writeStatus({ client }, { kind: statusKind, object, status: statusAfter(report, undefined, nowMs), fieldManager }),
    );
    const events = plan.steps.flatMap(({ events: own = [] }) => own);
    await Promise.all([...statuses, ...events.map(() => client.create(Event, eventAbout(object.metadata.name), briefly))]);
  };
}

/** As large as the operator's. */
function eventAbout(name: string): Event {
  return {
    metadata: { namespace, generateName: `${name}-` },
    eventTime: new Date().toISOString().replace("Z", "000Z"),
    type: "Normal",
    reason: "SomethingHappened",
    action: "Reconcile",
    note: "something happened that is told in about as many words as the operator would use for it",
    reportingController: "keyturn.io/bench",
    reportingInstance: "bench",
    regarding: { apiVersion: apiVersionOf(JWKSConfig), kind: JWKSConfig.kind, namespace, name },
  };
}
