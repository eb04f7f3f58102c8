// What the operator does, for real: nginx serves a JWKS through its Service, a gateway with an agent takes over certificates, while clients in other pods ask all the time; workloads are restarted.
import { Secret } from "@keyturn/runtime";
import { createAuthority, type KeyPair, serveFromHost } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, it } from "vitest";
import { startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { authority, certificateFor } from "../agent/agent-namespace.ts";
import { install, release } from "../install/installed-chart.ts";
import { keyturnImage, nginxImages, sidecarTags, workloadImage } from "./images.ts";
import {
  condition,
  fetchService,
  fetchWithin,
  isReady,
  istiodPort,
  PodClient,
  podsOf,
  read,
  restricted,
  restrictedNamespace,
  usePods,
} from "./pods.ts";
import { watchRollouts } from "./rollouts.ts";

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
    // The node's kube-proxy hears of the pod by itself, a moment before or after the operator.
    await soon(async () => expect(await fetched()).toBe(200));
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
        socket.setTimeout(60_000, () => socket.destroy(new Error("no answer")));
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
  it("are restarted one at a time, by an operator in a pod that asks istiod by its Service", async () => {
    await using istiod = await startIstiod();
    const { namespace: system } = istiod.settings;
    const mesh = await cluster().namespace("mesh", { "istio-injection": "enabled" });
    const root = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: mesh, name: "istio-ca-root-cert" },
      data: { "root-cert.pem": istiod.authority },
    };
    await cluster().apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: system } }, root]);
    const server = { host: "127.0.0.1", port: istiod.port };
    await using service = await serveFromHost(cluster(), { namespace: system, name: "istiod", port: 443, hostPort: istiodPort, server });
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
    using rollouts = await watchRollouts(cluster(), mesh);

    const sidecars = { enabled: true, istiodConfigReadDelay: "1s", maxRollouts: 1 };
    // There is no DNS in this cluster.
    const hostAliases = [{ ip: service.clusterIP, hostnames: [`istiod.${system}.svc`] }];
    await install(cluster(), { ...operator, controllers: { ...operator.controllers, sidecars }, hostAliases }, ...wait);
    istiod.configure({ tag: sidecarTags[1] });
    await cluster().apply(istiod.configMap());
    await soon(async () => {
      const pods = await podsOf(cluster(), mesh, "");
      expect(pods.map((pod) => [isReady(pod), JSON.stringify(pod.spec).includes(`proxyv2:${sidecarTags[1]}`)])).toEqual(
        names.map(() => [true, true]),
      );
      expect(rollouts.now()).toEqual({ counts: { one: 1, two: 1, three: 1 }, rolling: 0, mostAtOnce: 1 });
    });
  });
});

describe("Deployments that use a rotated Secret", () => {
  const users = ["one", "two", "three"] as const;
  const bystander = "other";
  let namespace: string;
  const source = (key: string): Promise<unknown> => {
    const annotations = { "rotator.k8s.telekom.com/rotation-set": "my-key", "rotator.k8s.telekom.com/source": "true" };
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { namespace, name: "key-latest", annotations }, stringData: { key } };
    return cluster().apply(secret);
  };
  /** What each pod was started with, as it tells itself. */
  const told = async (): Promise<readonly string[]> => {
    const pods = await podsOf(cluster(), namespace, "");
    const tell = async ({ metadata, status }: (typeof pods)[number]): Promise<string> =>
      `${metadata.labels?.["app"]}: ${await (await fetchWithin(cluster(), `${status?.podIP}:9000`, "/")).text()}`;
    return (await Promise.all(pods.map(tell))).sort();
  };
  const usersHave = (key: string): readonly string[] => [`${bystander}: one`, ...users.map((name) => `${name}: ${key}`)].sort();

  function deployment(name: string, annotations: Readonly<Record<string, string>>) {
    const container = {
      name: "app",
      image: keyturnImage,
      command: ["/nodejs/bin/node", "-e", `require("node:http").createServer((_, answer) => answer.end(process.env.KEY)).listen(9000)`],
      env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "key-live", key: "key" } } }],
      readinessProbe: { tcpSocket: { port: 9000 }, periodSeconds: 1 },
      securityContext: restricted.container,
    };
    const podSpec = {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      securityContext: restricted.pod,
      containers: [container],
    };
    const template = { metadata: { labels: { app: name } }, spec: podSpec };
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace, name, annotations },
      spec: { selector: { matchLabels: { app: name } }, template },
    };
  }

  it("are restarted once for each rotation, one at a time, and their new pods have the new value", async () => {
    const consumers = { enabled: true, settle: "1s", maxRollouts: 1 };
    await install(cluster(), { ...operator, controllers: { ...operator.controllers, consumers } }, ...wait);
    namespace = await restrictedNamespace(cluster(), "users");
    const spec = { rotationSet: "my-key", rotationOrder: 1, rotationDelay: "1s" };
    const target = { apiVersion: "rotator.k8s.telekom.com/v1", kind: "RotationTarget", metadata: { namespace, name: "key-live" }, spec };
    await cluster().apply(target);
    await source("one");
    await cluster().apply([...users.map((name) => deployment(name, { "keyturn.io/restart-on-change": "auto" })), deployment(bystander, {})]);
    using rollouts = await watchRollouts(cluster(), namespace);
    expect(await told()).toEqual(usersHave("one"));
    for (const [index, key] of ["two", "three"].entries()) {
      await source(key);
      await soon(async () => expect(await told()).toEqual(usersHave(key)));
      const each = Object.fromEntries(users.map((name) => [name, index + 1]));
      await soon(() => expect(rollouts.now()).toEqual({ counts: { ...each, [bystander]: 0 }, rolling: 0, mostAtOnce: 1 }));
    }
  });
});
