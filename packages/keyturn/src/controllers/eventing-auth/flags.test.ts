// The defaults are the predecessor's, and its environment still counts.
import { describe, expect, test } from "vitest";
import { readFlags } from "../../feature/flag.ts";
import type { FlagReader } from "../../feature/feature.ts";
import { eventingAuthFlags, keysOfRuntime, kubeconfigName, readSettings, runtimeOf } from "./flags.ts";

const given =
  (texts: Readonly<Record<string, string>> = {}): FlagReader =>
  (flag) =>
    flag.parse(texts[flag.name]);

describe("settings", () => {
  test("are the predecessor's by default: its namespaces, its names, no rotation", () => {
    const settings = readSettings(given());
    expect(settings).toMatchObject({
      providerSecret: { namespace: "kcp-system", name: "eventing-auth-ias-creds" },
      targetSecret: { namespace: "kyma-system", name: "eventing-webhook-auth" },
      allowInsecureTargets: false,
      rotateAfterMs: 0,
    });
    expect(kubeconfigName(settings, "a1b2")).toEqual({ namespace: "kcp-system", name: "kubeconfig-a1b2" });
  });

  test("refuse an overlap that never ends before the next rotation", () => {
    expect(() => readSettings(given({ "eventing-auth.rotate-after": "30m" }))).toThrow("rotation-overlap must be shorter");
    expect(readSettings(given({ "eventing-auth.rotate-after": "61m" }))).toMatchObject({ rotateAfterMs: 3_660_000, overlapMs: 3_600_000 });
  });
});

test("EventingAuths count where the kubeconfigs are, unless namespaces are named", () => {
  expect(readSettings(given({ "eventing-auth.kubeconfig-namespace": "other" })).namespaces).toEqual(["other"]);
  const settings = readSettings(given({ "eventing-auth.namespaces": "a, b" }));
  expect([runtimeOf(settings, "a/x"), runtimeOf(settings, "kcp-system/x")]).toEqual(["x", undefined]);
  expect(keysOfRuntime(settings, "x")).toEqual(["a/x", "b/x"]);
});

test.each(["provider-timeout", "target-timeout"])("%s is a second at least", (name) => {
  expect(() => readSettings(given({ [`eventing-auth.${name}`]: "999ms" }))).toThrow("must be a second at least");
});

describe("the predecessor's environment", () => {
  const legacy = { IAS_CREDS_SECRET_NAMESPACE: "elsewhere", IAS_CREDS_SECRET_NAME: "creds" };

  test("says where the credentials are", () => {
    expect(readFlags(eventingAuthFlags, {}, legacy)).toMatchObject({ credentialsNamespace: "elsewhere", credentialsSecret: "creds" });
  });

  test("counts less than our own, and that less than the command line", () => {
    const own = { ...legacy, KEYTURN_EVENTING_AUTH_CREDENTIALS_SECRET: "own" };
    expect(readFlags(eventingAuthFlags, {}, own).credentialsSecret).toBe("own");
    expect(readFlags(eventingAuthFlags, { "eventing-auth.credentials-secret": "line" }, own).credentialsSecret).toBe("line");
  });
});
