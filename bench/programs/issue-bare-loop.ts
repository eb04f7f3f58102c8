// The requests of the issuing controller in a bare loop that knows all of them beforehand: to the tenant alone, or with every write to both API servers.
import { readFileSync } from "node:fs";
import { createClient, createHttpTransport, embeddedKubeconfig, loadConfig, Secret, systemClock, systemRandom } from "@keyturn/runtime";
import {
  askedAtAnnotation,
  EventingAuth,
  eventingAuthFinalizer,
  type EventingAuthStatus,
} from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import {
  type IdentityProvider,
  IdentityProviders,
  type IssuedSecret,
} from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { endWithInput, report } from "./contestant-line.ts";
import { writeEvent } from "./event-write.ts";

const [what = "", file = "", namespace = "", system = ""] = process.argv.slice(2);
/** As many as the controller has workers. */
const workers = 100;

endWithInput();
/** What the scenario has written down for us. */
const plan = JSON.parse(readFileSync(file, "utf8")) as {
  readonly credentials: Readonly<Record<string, string>>;
  readonly runtimes: readonly string[];
};
const client = createClient(createHttpTransport(await loadConfig({ kubeconfig: process.env["BENCH_KUBECONFIG"] ?? "", env: {} })));
const provider = new IdentityProviders({ type: "ias", allowHttp: true, clock: systemClock, random: systemRandom }).forSecret(plan.credentials);
const grants = { read: () => Promise.resolve(undefined), keep: () => Promise.resolve() };

const startedNs = process.hrtime.bigint();
let next = 0;
await Promise.all(
  Array.from({ length: workers }, async () => {
    for (let runtime = plan.runtimes[next++]; runtime; runtime = plan.runtimes[next++]) {
      await (what === "tenant" ? issue(provider, runtime) : issueAndWrite(runtime));
    }
  }),
);
report({ type: "done", ms: Number(process.hrtime.bigint() - startedNs) / 1e6 });

interface Issued {
  readonly id: string;
  readonly clientId: string;
  readonly secret: IssuedSecret;
}

/** Called where the controller writes. */
interface Writes {
  readonly onFound?: () => Promise<unknown>;
  readonly onCreated?: (id: string) => Promise<void>;
  readonly onIssued?: (issued: Issued) => Promise<void>;
}

/** The five requests that a new runtime takes. */
async function issue(from: IdentityProvider, name: string, { onFound, onCreated, onIssued }: Writes = {}): Promise<void> {
  const owner = { name, uid: name, grants };
  await from.find(owner);
  await onFound?.();
  const { id } = await from.create(owner);
  await onCreated?.(id);
  const secret = await from.issueSecret({ ...owner, id }, { rotate: false });
  const clientId = (await from.read({ ...owner, id }))?.clientId ?? "";
  await onIssued?.({ id, clientId, secret });
  await from.accepts({ clientId, clientSecret: secret.secret });
}

async function issueAndWrite(name: string): Promise<void> {
  const briefly = { answer: "metadata" } as const;
  const { metadata } = await client.create(EventingAuth, { metadata: { namespace, name, finalizers: [eventingAuthFinalizer] }, spec: {} }, briefly);
  const kubeconfig = await client.get(Secret, { namespace: system, name: `kubeconfig-${name}` });
  const transport = createHttpTransport(await embeddedKubeconfig(atob(kubeconfig?.data?.["config"] ?? ""), { name, clock: systemClock }));
  const target = createClient(transport);
  const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };
  const watch = `/api/v1/namespaces/kyma-system/secrets?watch=true&fieldSelector=metadata.name%3D${place.name}`;
  await transport.send({ method: "GET", path: watch, lane: "watch" });
  const reportStatus = (status: EventingAuthStatus): Promise<unknown> =>
    client.apply(
      EventingAuth,
      { metadata: { namespace, name, uid: metadata.uid }, spec: undefined, status },
      { ...briefly, fieldManager: "bench", force: true, subresource: "status" },
    );
  const tell = (): Promise<void> => writeEvent(client, EventingAuth, { namespace, name });
  let written: EventingAuthStatus = { state: "NotReady" };
  await issue(provider, name, {
    onFound: () =>
      client.mergePatch(EventingAuth, { namespace, name }, { metadata: { annotations: { [askedAtAnnotation]: new Date().toISOString() } } }, briefly),
    async onCreated(id) {
      written = { state: "NotReady", iasApplication: { name, uuid: id } };
      await Promise.all([reportStatus(written), tell()]);
    },
    async onIssued({ clientId, secret }) {
      const data = { client_id: btoa(clientId), client_secret: btoa(secret.secret) };
      await target.create(Secret, { metadata: place, type: "Opaque", data }, briefly);
      await target.get(Secret, place);
    },
  });
  await Promise.all([reportStatus({ ...written, state: "Ready" }), tell()]);
}
