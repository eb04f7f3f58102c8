// The limit for the JWKS controller: the same writes and Events, known beforehand, sent by as many workers as the controller has, with nothing watched, compared or checked.
import {
  addFinalizer,
  createClient,
  createHttpTransport,
  fieldManagerOf,
  type Kind,
  type KubeObject,
  loadConfig,
  type ReportedStatus,
  Secret,
  statusAfter,
  type Stored,
  writeStatus,
} from "@keyturn/runtime";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { keepCertificateSecret } from "../../packages/keyturn/src/controllers/jwks/certificates.ts";
import { planJwks } from "../../packages/keyturn/src/controllers/jwks/plan.ts";
import { jwksFinalizer } from "../../packages/keyturn/src/controllers/jwks/controller.ts";
import { settingsOfJwksConfig } from "../../packages/keyturn/src/controllers/jwks/settings.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { endWithInput, report } from "./contestant-line.ts";
import { writeEvent } from "./event-write.ts";

const [namespace = ""] = process.argv.slice(2);
/** The controller's default concurrency. */
const workers = 16;
const statusKind: Kind<KubeObject & { readonly status?: ReportedStatus }> = JWKSConfig;
const nowMs = Date.now();
const fieldManager = fieldManagerOf(keyturn, "jwks");

endWithInput();
const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} })));
const secrets = new Map((await client.list(Secret, { namespace })).items.map((secret) => [secret.metadata.name, keepCertificateSecret(secret)]));
const planned = (await client.list<JWKSConfig>(JWKSConfig, { namespace })).items.map((object) => ({ object, plan: planFor(object) }));

const startedNs = process.hrtime.bigint();
let next = 0;
await Promise.all(Array.from({ length: workers }, work));
report({ type: "done", ms: Number(process.hrtime.bigint() - startedNs) / 1e6 });

async function work(): Promise<void> {
  for (let item = planned[next++]; item; item = planned[next++]) {
    const { object, plan } = item;
    await addFinalizer<JWKSConfig>({ client }, { kind: JWKSConfig, object }, jwksFinalizer);
    for (const write of plan.steps) {
      if (write.verb === "apply") await client.apply(write.kind, write.object, { fieldManager, answer: "metadata" });
    }
    await Promise.all([
      ...plan.status.map((status) =>
        writeStatus({ client }, { kind: statusKind, object, status: statusAfter(status, undefined, nowMs), fieldManager }),
      ),
      ...plan.steps.flatMap(({ events = [] }) => events.map(() => writeEvent(client, JWKSConfig, object.metadata))),
    ]);
  }
}

function planFor(object: Stored<JWKSConfig>): ReturnType<typeof planJwks> {
  const settings = settingsOfJwksConfig(object);
  return planJwks(
    { kind: JWKSConfig, object, settings, secrets, live: {}, owned: [], rivals: [], configMapIntervalMs: 0 },
    { nowMs, refused: new Map() },
  );
}
