// What does it cost to keep 20,000 certificates on disk for an nginx: memory, the first promotion, one change, a reload, a restart?
import { spawn } from "node:child_process";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { type Client, crdOf, Namespace, Secret } from "@keyturn/runtime";
import * as z from "zod";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { MemberSet } from "../../packages/keyturn/src/controllers/checksum/members.ts";
import { defaultVersionAnnotation, secretMember } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { forEachParallel } from "../../packages/keyturn/src/semaphore.ts";
import { makeCertificate, secretData, type TestCertificate } from "../../packages/keyturn/test/certificates.ts";
import { nginxCommand, socketIn, tlsConfiguration } from "../../test/agent/tls-configuration.ts";
import type { Contestants } from "../contestants.ts";
import { type Command, ContestantProcess } from "../measure/contestant-process.ts";
import type { Bed, Sample, Scenario } from "../scenario.ts";

const namespace = "bench-agent";
const writers = 16;
/** As many as there are certificates in a quick run. With 20,000, nginx alone takes 45 s for a reload, and as long to start. */
const nginxServers = 2000;
const started = z.object({ type: z.literal("started"), url: z.string(), ms: z.number() });
const attempt = z.object({ ok: z.boolean(), at: z.string(), durationMs: z.number() });
const statusSchema = z.object({
  state: z.string(),
  generation: z.string().optional(),
  promotion: attempt.optional(),
  command: attempt.optional(),
});
type Status = z.infer<typeof statusSchema>;

/** The Secrets of the namespace as their publisher knows them. */
interface Published {
  readonly set: MemberSet;
  readonly privateKey: KeyObject;
  readonly issuer: TestCertificate;
  readonly count: number;
  version: number;
}

/** The scenario, for these contestants. */
export function agentPromotion(contestants: Contestants): Scenario {
  let published: Published | undefined;
  return {
    id: "agent-promotion",
    title: "20,000 certificates on disk, verified, for an nginx",
    method:
      "One namespace with 20,000 Secrets of type kubernetes.io/tls (RSA 2048, a leaf and an intermediate: 4 kB each) and their checksum. The agent starts with an empty folder: from its start to the " +
      "promoted set, and of that the promotion itself (reading every Secret again, writing and flushing 40,000 files). Then an nginx with 2,000 TLS servers is started on the folder, one Secret " +
      "and the checksum change: the promotion of that change, and from the reload command to the first handshake with the new certificate, which is nginx's own time. Then the agent is started anew on the full folder: until " +
      "everything on the disk is verified. Memory is the agent's, at its highest. (With `--quick`, 2,000 certificates.)",
    contestants: [contestants.ours("agent", "Keyturn agent")],
    metrics: [
      { id: "peak", label: "peak memory", unit: "MB" },
      { id: "first", label: "start to promoted", unit: "ms" },
      { id: "promotion", label: "of that, promotion", unit: "ms" },
      { id: "change", label: "promotion of one change", unit: "ms" },
      { id: "reload", label: "nginx reload", unit: "ms" },
      { id: "restart", label: "restart, all verified", unit: "ms" },
    ],
    goals: [{ text: "agent with 20,000 certificates: memory, MB", contestant: "agent", metric: "peak", type: "limit", below: 250, over: "worst" }],
    async prepare(bed) {
      published = await seed(bed);
    },
    async measure({ command }, bed) {
      if (!published) throw new Error("measuring before the Secrets are there");
      const folder = await mkdtemp(join(tmpdir(), "keyturn-bench-agent-"));
      // nginx's workers run as another user when this runs as root.
      await chmod(folder, 0o755);
      try {
        return await measureIn(folder, command, { bed, published });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

async function measureIn(
  folder: string,
  command: Command,
  { bed, published }: { readonly bed: Bed; readonly published: Published },
): Promise<Sample> {
  const agentFolder = join(folder, "agent");
  const { args } = command;
  const agent = { ...command, args: [...args, namespace, agentFolder, ...nginxCommand(folder, "-s", "reload")] };
  const kubeconfig = bed.cluster.adminKubeconfig;
  let sample: Sample;
  {
    const beganMs = performance.now();
    await using contestant = new ContestantProcess(agent, kubeconfig);
    const { url } = started.parse(await contestant.next());
    const first = await statusWhere(url, ({ promotion }) => promotion?.ok === true);
    const firstMs = performance.now() - beganMs;

    await using nginx = await startNginx(folder, agentFolder);
    await change(bed.cluster.client, published);
    const isNext = ({ generation, command: told }: Status): boolean => generation !== first.generation && told?.ok === true;
    const second = await statusWhere(url, isNext);
    const toldMs = Date.parse(second.command?.at ?? "") - (second.command?.durationMs ?? 0);
    await nginx.serves(`web-1 ${published.version}`);
    sample = {
      first: firstMs,
      promotion: first.promotion?.durationMs ?? 0,
      change: second.promotion?.durationMs ?? 0,
      reload: Date.now() - toldMs,
      peak: contestant.usage().peakRssBytes / 2 ** 20,
    };
  }
  await using restarted = new ContestantProcess(agent, kubeconfig);
  const { ms, url } = started.parse(await restarted.next());
  await statusWhere(url, ({ state }) => state === "verified");
  return { ...sample, restart: ms, peak: Math.max(sample["peak"] ?? 0, restarted.usage().peakRssBytes / 2 ** 20) };
}

async function statusWhere(url: string, holds: (status: Status) => boolean): Promise<Status> {
  for (;;) {
    const status = statusSchema.parse(await (await fetch(`${url}/status`)).json());
    if (holds(status)) return status;
    await delay(20);
  }
}

interface Nginx extends AsyncDisposable {
  /** Resolves when the first server shows a certificate with this common name. */
  serves(commonName: string): Promise<void>;
}

async function startNginx(folder: string, agentFolder: string): Promise<Nginx> {
  const hosts = Object.fromEntries(Array.from({ length: nginxServers }, (_, index) => [`web-${index + 1}.test`, `web-${index + 1}`]));
  await writeFile(join(folder, "nginx.conf"), tlsConfiguration({ folder, agentFolder, hosts }));
  const [program, ...args] = nginxCommand(folder, "-g", "daemon off;");
  const child = spawn(program, args, { stdio: "ignore" });
  const ended = once(child, "exit");
  const serves = async (commonName: string | undefined): Promise<void> => {
    for (;;) {
      if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}; its log is in ${folder}`);
      const served = await shownName(socketIn(folder)).catch(() => undefined);
      if (served !== undefined && (commonName === undefined || served === commonName)) return;
      await delay(20);
    }
  };
  await serves(undefined);
  return {
    serves,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function shownName(path: string): Promise<string> {
  const socket = connect({ path, servername: "web-1.test", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** One Secret changes, and the checksum with it, as a control plane announces it. */
async function change(client: Client, published: Published): Promise<void> {
  published.version += 1;
  const secret = secretOf(1, published);
  published.set.set(secret.metadata.name, secretMember(secret, rules));
  await publish(client, published);
  await client.replace(Secret, secret);
}

const rules = { versionAnnotations: [defaultVersionAnnotation] };

async function seed({ cluster, quick, say }: Bed): Promise<Published> {
  const count = quick ? 2000 : 20_000;
  say(`creating ${count} Secrets with certificates`);
  const { client } = cluster;
  await cluster.apply(crdOf(SecretCheckSum));
  await client.create(Namespace, { metadata: { name: namespace } });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const published = { set: new MemberSet(), privateKey, issuer: makeCertificate({ commonName: "bench", privateKey }), count, version: 1 };
  await forEachParallel(
    Array.from({ length: count }, (_, index) => index + 1),
    writers,
    async (number) => {
      const secret = secretOf(number, published);
      published.set.set(secret.metadata.name, secretMember(secret, rules));
      await client.create(Secret, secret);
    },
  );
  await publish(client, published);
  return published;
}

function secretOf(number: number, { privateKey, issuer, version }: Published) {
  const { certificate } = makeCertificate({ commonName: `web-${number} ${version}`, privateKey, issuer });
  const metadata = { namespace, name: `web-${number}`, annotations: { [defaultVersionAnnotation]: String(version) } };
  return { metadata, type: "kubernetes.io/tls", data: secretData(`${certificate}${issuer.certificate}`, privateKey) };
}

async function publish(client: Client, { set, version }: Published): Promise<void> {
  const { ids, checksum, sha256 } = set.state();
  // A second later than the one before, however fast this goes.
  const timestamp = new Date(Math.floor(Date.now() / 1000) * 1000 + version * 1000).toISOString();
  const spec = { timestamp, checksum, ids: [...ids], count: ids.length, ...(sha256 && { sha256 }) };
  await client.create(SecretCheckSum, { metadata: { namespace, name: `secret-${version}` }, spec });
}
