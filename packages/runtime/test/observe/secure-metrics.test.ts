// Metrics by HTTPS on a real API server: an operator with the declared rights and no others shows them to a token that may, and to nobody else.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request as send } from "node:https";
import { policyRules, scrapeAccess, ServiceAccount } from "@keyturn/runtime";
import { startOperator } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, it, onTestFinished } from "vitest";

const cluster = useCluster();
const place = { namespace: "scrapes" } as const;

/** The status of a scrape, and the first line of what it got. */
async function scrape(url: string | undefined, token?: string): Promise<string> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = send(`${url}/metrics`, { agent: false, rejectUnauthorized: false, headers });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
  return `${response.statusCode} ${text.split("\n")[0]}`;
}

it("shows them to a token that may, not to one that may not, is wrong or has gone; to nobody without an API server; and goes on by itself", async () => {
  const kubeconfig = await cluster().kubeconfigFor({ serviceAccount: { ...place, name: "operator" }, rules: policyRules(scrapeAccess) });
  await cluster().kubeconfigFor({ serviceAccount: { ...place, name: "scraper" }, rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }] });
  await cluster().client.create(ServiceAccount, { metadata: { ...place, name: "visitor" } });
  const tokens = async () => ({
    allowed: await cluster().tokenFor({ ...place, name: "scraper" }),
    visitor: await cluster().tokenFor({ ...place, name: "visitor" }),
  });
  const { allowed, visitor } = await tokens();
  await using operator = await startOperator({ kubeconfig, controllers: [], leaderElection: { enabled: false }, secureMetrics: {} });
  const { metricsUrl } = operator.started;
  expect(metricsUrl).toMatch(/^https:/);
  expect(await scrape(metricsUrl, allowed)).toMatch(/^200 # HELP /);
  expect(await scrape(metricsUrl, visitor)).toMatch(/^403 the owner of this token may not get the path \/metrics/);
  const [head, payload, signature = ""] = allowed.split(".");
  const forged = [head, payload, signature.split("").toReversed().join("")].join(".");
  expect(await scrape(metricsUrl, forged)).toBe("401 the token is not valid");
  expect(await scrape(metricsUrl)).toBe("401 a bearer token of this cluster is needed");

  // Each token is known for a while; these have never been shown.
  const [later, gone] = [await tokens(), await tokens()];
  onTestFinished(() => cluster().apiServer.start());
  await cluster().apiServer.kill();
  expect(await scrape(metricsUrl, later.allowed)).toBe("503 the API server could not be asked about the token");
  await cluster().apiServer.start();
  await soon(async () => expect(await scrape(metricsUrl, later.allowed)).toMatch(/^200 # HELP /));
  await cluster().client.delete(ServiceAccount, { ...place, name: "scraper" });
  await soon(async () => expect(await scrape(metricsUrl, gone.allowed)).toBe("401 the token is not valid"));
  expect(JSON.stringify(operator.logLines)).not.toContain(allowed.slice(-20));
});

it("says in its log which right it lacks, and shows them to nobody", async () => {
  const kubeconfig = await cluster().kubeconfigFor({ serviceAccount: { ...place, name: "powerless" } });
  await cluster().client.create(ServiceAccount, { metadata: { ...place, name: "somebody" } });
  await using operator = await startOperator({ kubeconfig, controllers: [], leaderElection: { enabled: false }, secureMetrics: {} });
  expect(await scrape(operator.started.metricsUrl, await cluster().tokenFor({ ...place, name: "somebody" }))).toMatch(/^503 /);
  expect(JSON.stringify(operator.logLines)).toContain("tokenreviews");
});
