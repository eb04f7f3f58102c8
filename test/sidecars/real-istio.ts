// Istio itself, for recording what it answers: its chart as Helm renders it, and its injection webhook as `istio-injector/main.go` is built with its Go module.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isRecord, type MutatingWebhook, type MutatingWebhookConfiguration } from "@keyturn/runtime";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import type { Installation, IstioState } from "./golden-rounds.ts";

/** Where the program, the chart `istio-discovery` and Helm are. */
interface IstioPrograms {
  readonly injector: string;
  readonly chart: string;
  readonly helm: string;
}

const objectSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  data: z.record(z.string(), z.string()).default({}),
  webhooks: z.array(z.custom<MutatingWebhook>((value) => isRecord(value) && "admissionReviewVersions" in value)).default([]),
});

/** All installations of a state, until it is disposed of. */
export class RealIstio implements AsyncDisposable {
  readonly configurations: MutatingWebhookConfiguration[] = [];
  readonly #stack = new AsyncDisposableStack();

  static async start(state: IstioState, programs: IstioPrograms): Promise<RealIstio> {
    const istio = new RealIstio();
    for (const installation of state.installations) await istio.#install(installation, programs);
    return istio;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  async #install({ set = {}, env = {}, proxyConfigs = [] }: Installation, { injector, chart, helm }: IstioPrograms): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "istio-"));
    this.#stack.defer(() => rmSync(folder, { recursive: true }));
    const values = Object.entries({ "global.hub": "docker.io/istio", "global.tag": "1.29.0", ...set });
    const flags = values.flatMap(([name, value]) => ["--set-string", `${name}=${value.replaceAll(",", "\\,")}`]);
    const rendered = execFileSync(helm, ["template", "istiod", chart, "--namespace", "istio-system", ...flags], { encoding: "utf8" });
    const objects = parseAllDocuments(rendered).flatMap((document) => objectSchema.safeParse(document.toJS()).data ?? []);
    const suffix = set["revision"] === undefined ? "" : `-${set["revision"]}`;
    const dataOf = (name: string) => objects.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === `${name}${suffix}`)?.data ?? {};
    const authority = createAuthority("istiod");
    const { certificate, privateKey } = issueCertificate(authority, { usage: "server", commonName: "istiod", hosts: ["127.0.0.1"] });
    const files = {
      config: dataOf("istio-sidecar-injector")["config"],
      values: dataOf("istio-sidecar-injector")["values"],
      mesh: dataOf("istio")["mesh"],
      revision: set["revision"] ?? "default",
      "proxyconfigs.json": JSON.stringify(proxyConfigs),
      "tls.crt": certificate,
      "tls.key": privateKey,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text ?? "");
    const child = spawn(injector, [folder], {
      env: { ...process.env, ENABLE_NATIVE_SIDECARS: "false", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#stack.defer(() => stop(child));
    const [url] = z.tuple([z.string()]).parse(await once(createInterface({ input: child.stdout }), "line"));
    const caBundle = Buffer.from(authority.certificate).toString("base64");
    for (const { kind, metadata, webhooks } of objects) {
      if (kind !== "MutatingWebhookConfiguration") continue;
      const reached = webhooks.map((webhook) => Object.assign({}, webhook, { clientConfig: { url, caBundle } }));
      this.configurations.push({ metadata: { name: metadata.name }, webhooks: reached });
    }
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill();
  await ended;
}
