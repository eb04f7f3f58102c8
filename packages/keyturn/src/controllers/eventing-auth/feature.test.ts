// What the rest of the program knows of issuing: its rights, flags and metrics.
import { policyRules } from "@keyturn/runtime";
import { expect, test } from "vitest";
import { readFlags } from "../../feature/flag.ts";
import { eventingAuthFeature } from "./feature.ts";

const flags = (name: string): string | undefined => (name === "eventing-auth.provider" ? "ias" : undefined);
const controllers = eventingAuthFeature.controllers((flag) => flag.parse(flags(flag.name) ?? flag.default));

test("Secrets are read in one namespace, and changed nowhere", () => {
  const rules = controllers.flatMap(({ access }) => access);
  const secrets = rules.filter(({ kind }) => kind.plural === "secrets");
  expect(new Set(secrets.map(({ namespace }) => namespace))).toEqual(new Set(["kcp-system"]));
  expect(policyRules(secrets)).toEqual([{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch"] }]);
});

test("the variables that the predecessor reads are read", () => {
  const { namespace, name } = Object.fromEntries(
    eventingAuthFeature.flags.flatMap((flag) =>
      flag.name === "eventing-auth.credentials-namespace"
        ? [["namespace", flag]]
        : flag.name === "eventing-auth.credentials-secret"
          ? [["name", flag]]
          : [],
    ),
  );
  if (!namespace || !name) throw new Error("the flags are gone");
  const environment = { IAS_CREDS_SECRET_NAMESPACE: "elsewhere", IAS_CREDS_SECRET_NAME: "creds" };
  expect(readFlags({ namespace, name }, {}, environment)).toEqual({ namespace: "elsewhere", name: "creds" });
  expect(readFlags({ namespace, name }, { "eventing-auth.credentials-secret": "given" }, environment)).toEqual({
    namespace: "elsewhere",
    name: "given",
  });
  expect(readFlags({ namespace, name }, {}, {})).toEqual({ namespace: "kcp-system", name: "eventing-auth-ias-creds" });
});

test("there are metrics of its own", () => {
  expect(Object.keys(eventingAuthFeature.metrics)).toContain("keyturn_eventing_auth_identity_requests_total");
});
