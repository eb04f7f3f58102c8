// The numbers of an object, which come and go with it.
import { createMetrics, keyOf } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { JWKS, JWKSConfig, type JwksStatus } from "./api.ts";
import { keyMetrics } from "./controller.ts";

const key = keyOf({ namespace: "shop", name: "site" });
const keyOfState = (state: "Active" | "Retiring", certificateExpires: string): NonNullable<JwksStatus["keys"]>[number] => ({
  kid: `${state}-${certificateExpires}`,
  state,
  source: "signer",
  since: "2026-01-01T00:00:00Z",
  algorithm: "ES256",
  certificates: [],
  certificateExpires,
});
const status: JwksStatus = {
  keys: [keyOfState("Active", "2026-03-01T00:00:00Z"), keyOfState("Active", "2026-02-01T00:00:00Z"), keyOfState("Retiring", "2026-01-15T00:00:00Z")],
};

test("an object's keys are counted by state, and its first expiry among active keys is reported", async () => {
  const metrics = createMetrics();
  // Both controllers share the metrics.
  keyMetrics(metrics, JWKS);
  const view = keyMetrics(metrics, JWKSConfig);
  const shown = async (): Promise<readonly string[]> => (await metrics.text()).split("\n").filter((line) => line.startsWith("keyturn_jwks"));

  view.show(key, status);
  expect(await shown()).toEqual([
    'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Active"} 2',
    'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Retiring"} 1',
    `keyturn_jwks_certificate_expiry_timestamp_seconds{kind="JWKSConfig",namespace="shop",name="site"} ${Date.parse("2026-02-01T00:00:00Z") / 1000}`,
  ]);
  view.hide(key);
  expect(await shown()).toEqual([]);
});
