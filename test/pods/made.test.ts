// What the operator does, for real: nginx serves a JWKS through its Service, a gateway with an agent takes over certificates, while clients in other pods ask all the time; workloads are restarted.
import { connect, createServer } from "node:net";
import { Secret } from "@keyturn/runtime";
import { clusterFilesIn, createAuthority, hostSocket, type KeyPair, nodeNetwork } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { authority, certificateFor } from "../agent/agent-namespace.ts";
import { install, release } from "../install/installed-chart.ts";
import { nginxImages, sidecarTags, workloadImage } from "./images.ts";
import { condition, fetchService, isReady, istiodPort, PodClient, podsOf, read, restricted, restrictedNamespace, usePods } from "./pods.ts";

const cluster = usePods();
const wait = ["--wait", "--timeout=5m"] as const;
/** An image that no registry has. */
const missingImage = "keyturn.local/nothing:1";
const jwks = { serving: true, reconcileInterval: "1s", configmapInterval: "1s", nginxAllowedImages: [...nginxImages, missingImage] };
const operator = { controllers: { jwks, checksum: { settle: "1s" } } };

beforeAll(() => install(cluster(), operator, ...wait));

const tlsSecret = (metadata: object, { certificate, privateKey }: KeyPair) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata,
  type: "kubernetes.io/tls",
  stringData: { "tls.crt": certificate, "tls.key": privateKey },
});

describe("a JWKSConfig with serving", () => {
  let namespace: string;
  const path = (): string => `/apis/keyturn.io/v1alpha1/namespaces/${namespace}/jwksconfigs/tokens`;
  const publish = (image: string): Promise<unknown> => {
    const spec = { certificateSecret: "signer", configMapName: "tokens-jwks", nginxConfigMapName: "tokens-nginx", nginx: { image } };
    const config = { apiVersion: "keyturn.io/v1alpha1", kind: "JWKSConfig", metadata: { namespace, name: "tokens" }, spec };
    return cluster().apply(config);
  };
  const sign = (): Promise<unknown> => cluster().apply(tlsSecret({ namespace, name: "signer" }, createAuthority("signer")));
  const fetched = (): Promise<number> =>
    fetchService(cluster(), { namespace, name: "tokens" }, "/jwks.json").then(
      ({ status }) => status,
      () => 0,
    );

  beforeAll(async () => {
    namespace = await restrictedNamespace(cluster(), "tokens");
    await sign();
  });

  it("is not Served while its image cannot be had, and Served when the document can be fetched through the Service", async () => {
    await publish(missingImage);
    await condition(cluster(), path(), "Served", "False");
    expect(await fetched()).toBe(0);
    await publish(nginxImages[0]);
    await condition(cluster(), path(), "Served");
    expect(await fetched()).toBe(200);
  });

  it("is fetched by a client in another pod through a rotation and a rollout of nginx, without one failed request", async () => {
    const ask = `const response = await fetch("http://" + process.env.TOKENS_SERVICE_HOST + "/jwks.json", { headers: { connection: "close" } });
      if (response.status !== 200) throw new Error("status " + response.status);
      return (await response.json()).keys.map(({ kid }) => kid).sort().join(" ");`;
    const client = await PodClient.start(cluster(), { namespace, name: "client" }, ask);
    const [first = ""] = (await client.report()).seen;
    await sign();
    // The keys of before and of now, one document.
    await soon(async () => expect((await client.report()).seen.some((kids) => kids.includes(first) && kids.split(" ").length === 2)).toBe(true));
    await publish(nginxImages[1]);
    await soon(async () => {
      const pods = await podsOf(cluster(), namespace, "app=tokens");
      expect(pods.map((pod) => [isReady(pod), pod.spec?.containers[0]?.image])).toEqual([[true, nginxImages[1]]]);
    });
    await soon(async () =>
      expect(
        (await cluster().kubectl("get", "pod", "--selector=app=tokens", `--namespace=${namespace}`, "--output=name")).trim().split("\n"),
      ).toHaveLength(1),
    );
    await client.answersMore(50);
    expect((await client.report()).failures).toEqual([]);
    await condition(cluster(), path(), "Served");
  });

  it("is not Served any more when no pod serves it", async () => {
    await cluster().kubectl("patch", "jwksconfig", "tokens", `--namespace=${namespace}`, "--type=merge", '--patch={"spec":{"nginx":{"replicas":0}}}');
    await condition(cluster(), path(), "Served", "False");
    await soon(async () => expect(await fetched()).toBe(0));
  });
});

describe("an agent beside a gateway", () => {
  const host = "shop.example.com";
  const secretName = "shop-example-com-1";
  let namespace: string;
  const serve = (version: number): Promise<unknown> =>
    cluster().apply(
      tlsSecret({ namespace, name: secretName, annotations: { "nginx.ingress.kubernetes.io/version": `${version}` } }, certificateFor(host, version)),
    );

  const configuration = `
    pid /certificates/nginx.pid;
    error_log /dev/stderr notice;
    events {}
    http {
      access_log off;
      client_body_temp_path /tmp/a; proxy_temp_path /tmp/b; fastcgi_temp_path /tmp/c; uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e;
      server {
        listen 8443 ssl;
        ssl_certificate /certificates/agent/current/${secretName}/tls.crt;
        ssl_certificate_key /certificates/agent/current/${secretName}/tls.key;
        return 200;
      }
    }`;
  const gateway = {
    name: "nginx",
    image: nginxImages[0],
    args: ["-c", "/gateway/nginx.conf"],
    readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
    securityContext: restricted.container,
    volumeMounts: [
      { name: "certificates", mountPath: "/certificates" },
      { name: "gateway", mountPath: "/gateway" },
      { name: "tmp", mountPath: "/tmp" },
    ],
  };

  it("starts the gateway once it has certificates, and the gateway takes over new ones without one failed handshake", async () => {
    namespace = await restrictedNamespace(cluster(), "gateway", { "keyturn.io/checksum": "enabled" });
    const file = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name: "gateway" }, data: { "nginx.conf": configuration } };
    const spec = { selector: { "app.kubernetes.io/component": "agent" }, ports: [{ port: 443, targetPort: 8443 }] };
    const service = { apiVersion: "v1", kind: "Service", metadata: { namespace, name: "gateway" }, spec };
    await cluster().apply([file, service]);
    const agent = {
      enabled: true,
      namespace,
      shareProcessNamespace: true,
      signalPidFile: "/certificates/nginx.pid",
      pause: "1s",
      extraContainers: [gateway],
      extraVolumes: [
        { name: "gateway", configMap: { name: "gateway" } },
        { name: "tmp", emptyDir: {} },
      ],
    };
    await install(cluster(), { ...operator, agent });
    const component = "app.kubernetes.io/component=agent";
    await soon(async () => expect((await podsOf(cluster(), namespace, component))[0]?.status?.phase).toBe("Pending"));
    await serve(1);
    await soon(async () => expect((await podsOf(cluster(), namespace, component)).map(isReady)).toEqual([true]));
    const ask = `const { connect } = require("node:tls");
      const options = { host: process.env.GATEWAY_SERVICE_HOST, port: 443, servername: ${JSON.stringify(host)}, ca: ${JSON.stringify(authority.certificate)} };
      return new Promise((resolve, reject) => {
        const socket = connect(options, () => { resolve(socket.getPeerCertificate().subject.CN); socket.destroy(); });
        socket.setTimeout(5000, () => socket.destroy(new Error("no answer")));
        socket.once("error", reject);
      });`;
    const client = await PodClient.start(cluster(), { namespace, name: "client" }, ask);
    for (const version of [2, 3]) {
      await serve(version);
      await soon(async () => expect((await client.report()).seen).toContain(`${host} ${version}`));
    }
    await client.answersMore(50);
    expect(await client.report()).toMatchObject({ failures: [], seen: [1, 2, 3].map((version) => `${host} ${version}`) });
    const [pod] = await podsOf(cluster(), namespace, component);
    expect(
      [...(pod?.status?.containerStatuses ?? []), ...(pod?.status?.initContainerStatuses ?? [])].map(({ restartCount }) => restartCount),
    ).toEqual([0, 0]);
  });

  it("runs alone on every node too, as a DaemonSet", async () => {
    await install(cluster(), { ...operator, agent: { enabled: true, namespace, kind: "DaemonSet" } }, ...wait);
    const daemonSet = await read(cluster(), `/apis/apps/v1/namespaces/${namespace}/daemonsets/${release.name}-agent`);
    expect(daemonSet.status).toMatchObject({ numberReady: 1, desiredNumberScheduled: 1 });
    expect(await cluster().client.get(Secret, { namespace, name: secretName })).toBeDefined();
  });
});

describe("workloads with a sidecar that is behind", () => {
  const names = ["one", "two", "three"] as const;
  const deploymentSchema = z.object({
    metadata: z.object({ name: z.string(), generation: z.number() }),
    spec: z.object({ template: z.object({ metadata: z.object({ annotations: z.record(z.string(), z.string()).default({}) }) }) }),
    status: z.object({
      observedGeneration: z.number().default(0),
      updatedReplicas: z.number().default(0),
      replicas: z.number().default(0),
      availableReplicas: z.number().default(0),
    }),
  });

  async function deployments(namespace: string): Promise<readonly z.infer<typeof deploymentSchema>[]> {
    const list = await cluster().client.request({ method: "GET", path: `/apis/apps/v1/namespaces/${namespace}/deployments` });
    return z.object({ items: z.array(deploymentSchema) }).parse(list).items;
  }

  const isRolling = ({ metadata, status }: z.infer<typeof deploymentSchema>): boolean =>
    status.observedGeneration < metadata.generation || status.updatedReplicas < 1 || status.replicas > 1 || status.availableReplicas < 1;

  it("are restarted one at a time, by an operator in a pod that asks istiod by its Service", async () => {
    await using istiod = await startIstiod();
    const { namespace: system } = istiod.settings;
    const server = createServer(
      (socket) =>
        void socket
          .pipe(connect(istiod.port, "127.0.0.1"))
          .on("error", () => socket.destroy())
          .pipe(socket)
          .on("error", () => {}),
    );
    server.listen(hostSocket(clusterFilesIn(cluster().folder), istiodPort));
    await using _ = { [Symbol.asyncDispose]: async () => void server.close() };
    const mesh = await cluster().namespace("mesh", { "istio-injection": "enabled" });
    const ports = [{ name: "https", port: 443, targetPort: istiodPort }];
    const service = { apiVersion: "v1", kind: "Service", metadata: { namespace: system, name: "istiod" }, spec: { ports } };
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: system, name: "istiod", labels: { "kubernetes.io/service-name": "istiod" } },
      addressType: "IPv4",
      endpoints: [{ addresses: [nodeNetwork.apiServer] }],
      ports: [{ name: "https", port: istiodPort }],
    };
    const root = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: mesh, name: "istio-ca-root-cert" },
      data: { "root-cert.pem": istiod.authority },
    };
    await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: system } }, service, slice, root]);
    await cluster().apply([istiod.configMap(), istiod.revisionConfiguration({ byService: true })]);
    const workloads = names.map((name) => {
      const template = {
        metadata: { labels: { app: name } },
        spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "app", image: workloadImage }] },
      };
      return {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { namespace: mesh, name },
        spec: { selector: { matchLabels: { app: name } }, template },
      };
    });
    await cluster().apply(workloads);
    await soon(async () => expect((await deployments(mesh)).map(isRolling)).toEqual([false, false, false]));

    const { clusterIP } = z
      .object({ spec: z.object({ clusterIP: z.string() }) })
      .parse(await read(cluster(), `/api/v1/namespaces/${system}/services/istiod`)).spec;
    const sidecars = { enabled: true, istiodConfigReadDelay: "1s", maxRollouts: 1 };
    // There is no DNS in this cluster.
    const hostAliases = [{ ip: clusterIP, hostnames: [`istiod.${system}.svc`] }];
    await install(cluster(), { ...operator, controllers: { ...operator.controllers, sidecars }, hostAliases }, ...wait);
    istiod.configure({ tag: sidecarTags[1] });
    await cluster().apply(istiod.configMap());
    let maxAtOnce = 0;
    await soon(async () => {
      const now = await deployments(mesh);
      maxAtOnce = Math.max(maxAtOnce, now.filter(isRolling).length);
      const pods = await podsOf(cluster(), mesh, "");
      expect(pods.map((pod) => [isReady(pod), JSON.stringify(pod.spec).includes(`proxyv2:${sidecarTags[1]}`)])).toEqual(
        names.map(() => [true, true]),
      );
    });
    expect(maxAtOnce).toBe(1);
  });
});
