// A process that stands still between a decision and its request: when it goes on, another one may lead, and nothing of the old decision is sent any more.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, it, onTestFinished, test } from "vitest";
import type { ApplicationRef, IdentityProvider } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { askedAtAnnotation, EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { startOpenidServer } from "./identity/openid-server.ts";
import { MemoryKeeper, openProviders, secretData, someOwner } from "./identity/tenant.ts";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";
import { issuingPlace } from "./issuing-place.ts";

const ended = new Error("another one leads");
const refused = {
  signal: new AbortController().signal,
  check: () => {
    throw ended;
  },
};

describe("whoever leads no longer", () => {
  const changes: Readonly<Record<string, (provider: IdentityProvider, application: ApplicationRef) => Promise<unknown>>> = {
    "makes no application": (provider, { name, uid, grants, permit }) =>
      provider.create({ name, uid, grants: new MemoryKeeper(), ...(permit && { permit }), ...(provider.type === "ias" && { grants }) }),
    "deletes none": (provider, application) => provider.delete(application),
    "issues no secret": (provider, application) => provider.issueSecret(application, { rotate: true }),
  };

  it.each(Object.entries(changes))("%s at IAS", async (_what, change) => {
    await using ias = await startIasStandIn();
    using providers = openProviders();
    const provider = providers.forSecret(secretData({ url: ias.url, username: ias.username, password: ias.password }));
    const owner = someOwner();
    const { id } = await provider.create(owner);
    const { hint } = await provider.issueSecret({ ...owner, id }, { rotate: false });
    const before = JSON.stringify(ias.applications());
    await expect(change(provider, { ...owner, id, permit: refused })).rejects.toBe(ended);
    await expect(provider.deleteSecret({ ...owner, id, permit: refused }, hint)).rejects.toBe(ended);
    expect(JSON.stringify(ias.applications())).toBe(before);
  });

  it.each(Object.entries(changes))("%s at an OpenID server", async (_what, change) => {
    await using server = await startOpenidServer();
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: server.issuer, initial_access_token: server.initialAccessToken ?? "" }));
    const owner = someOwner(new MemoryKeeper());
    const { id, secret } = await provider.create(owner);
    const sent: string[] = [];
    server.onStep((step, moment) => void (moment === "before" && sent.push(step)));
    await expect(change(provider, { ...owner, id, permit: refused })).rejects.toBe(ended);
    expect(sent.filter((step) => step.endsWith("/reg"))).toEqual([]);
    expect(server.clients()).toEqual([id]);
    expect(await provider.accepts({ clientId: id, clientSecret: secret?.secret ?? "" })).toBe(true);
  });

  it("still keeps the right to manage a client whose registration was under way", async () => {
    await using server = await startOpenidServer();
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: server.issuer, initial_access_token: server.initialAccessToken ?? "" }));
    const keeper = new MemoryKeeper();
    const end = new AbortController();
    server.onStep((step, moment) => void (step === "POST /reg" && moment === "after" && end.abort(ended)));
    const { id } = await provider.create({ ...someOwner(keeper), permit: { signal: end.signal, check: () => end.signal.throwIfAborted() } });
    expect(server.clients()).toEqual([id]);
    expect(keeper.grant).toContain(id);
  });
});

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

test("an operator that stands still after recording that it asks for an application asks for none when it goes on", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await using proxy = await startFaultProxy(controlPlane());
  let hasStopped = false;
  const stepsAfter: string[] = [];
  place.tenant.onStep((step, moment) => void (hasStopped && moment === "before" && stepsAfter.push(step)));
  proxy.inject({
    on: { method: "PATCH", path: /\/eventingauths\// },
    async intervene(request, next) {
      const response = await next(request);
      if (!hasStopped && request.body.toString().includes(askedAtAnnotation)) {
        hasStopped = true;
        place.clock.standStill(120_000);
      }
      return response;
    },
  });
  await place.putKubeconfig();
  await place.putKyma();
  await place.startOperator({ kubeconfig: proxy.through(await place.kubeconfig()) });
  await place.isWhole();
  // Whoever leads next looks first for what became of the request.
  expect(stepsAfter[0]).toBe("find");
  expect(place.tenant.counters.created).toBe(1);
});

test("a process that is stopped between the two, and continued when another one has made the application, makes none", async () => {
  await using place = await issuingPlace(controlPlane(), target());
  await using proxy = await startFaultProxy(controlPlane());
  const kubeconfig = await place.kubeconfig();
  const processes: KeyturnProcess[] = [];
  onTestFinished(() => processes.forEach((each) => each.kill("SIGKILL")));
  const start = (path: string): KeyturnProcess => {
    const flags = Object.entries(place.flags()).map(([name, value]) => `--${name}=${value}`);
    const own = [
      `--kubeconfig=${path}`,
      `--namespaces=${place.namespace}`,
      `--leader-elect-namespace=${place.namespace}`,
      "--leader-elect-lease-duration=5s",
    ];
    const started = startKeyturn([
      "run",
      "--controllers=eventing-auth",
      "--metrics-bind-address=0",
      "--health-probe-bind-address=0",
      ...own,
      ...flags,
    ]);
    processes.push(started);
    return started;
  };
  const isAsked = Promise.withResolvers<void>();
  proxy.inject({
    on: { method: "PATCH", path: /\/eventingauths\// },
    async intervene(request, next) {
      const isAsking = request.body.toString().includes(askedAtAnnotation);
      // Stopped before it hears of the write, so that it goes on from there.
      const response = await next(request);
      if (isAsking) first.kill("SIGSTOP");
      if (isAsking) isAsked.resolve();
      return response;
    },
  });
  await place.putKubeconfig();
  await place.putKyma();
  const first = start(proxy.through(kubeconfig));
  await isAsked.promise;
  expect(place.tenant.counters.created).toBe(0);
  // For the other one, the minute is over in which it would wait for what the first one has asked for.
  const metadata = { annotations: { [askedAtAnnotation]: "2020-01-01T00:00:00Z" } };
  await place.client.mergePatch(EventingAuth, { namespace: place.namespace, name: place.runtime }, { metadata });
  start(kubeconfig);
  await place.isWhole();
  const { requests } = place.tenant.counters;
  first.kill("SIGCONT");
  await soon(() => expect(first.output.out).toMatch(/lease (?:lost|given back)|no longer leads/));
  expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0, requests: { create: requests.create, "create-secret": 1 } });
});
