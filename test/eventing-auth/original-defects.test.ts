// Each defect that was found in kyma-project/eventing-auth-manager, and the test that shows that users do not meet it here.
import { readFile } from "node:fs/promises";
import { policyRules } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { eventingAuthFeature } from "../../packages/keyturn/src/controllers/eventing-auth/feature.ts";
import { readFlags } from "../../packages/keyturn/src/feature/flag.ts";

const source = "packages/keyturn/src/controllers/eventing-auth";

type Proof = { readonly file: string; readonly test: string } | { readonly notHere: string };

/** The numbers are those of the list in the project's notes on the predecessor. */
const defects: readonly { readonly number: number; readonly defect: string; readonly proofs: readonly Proof[] }[] = [
  {
    number: 1,
    defect: "a Secret that is deleted or edited in the runtime stays that way, and the object stays Ready",
    proofs: [
      { file: "test/eventing-auth/repair.test.ts", test: "comes back within moments when it is deleted" },
      { file: "test/eventing-auth/repair.test.ts", test: "is put right when somebody changes %s" },
    ],
  },
  {
    number: 2,
    defect: "an EventingAuth that is deleted while its Kyma lives stays away",
    proofs: [{ file: "test/eventing-auth/issuing.test.ts", test: "has an EventingAuth that it owns, which comes back and gets its owner back" }],
  },
  {
    number: 3,
    defect: "nothing is said about missing kubeconfigs, unreachable clusters, missing credentials, stuck deletions",
    proofs: [
      { file: "test/eventing-auth/failures.test.ts", test: "that does not exist or is no kubeconfig is said to be so" },
      { file: "test/eventing-auth/failures.test.ts", test: "that cannot be reached is said to be so, and gets its Secret when it can" },
      { file: "test/eventing-auth/failures.test.ts", test: "%s are named in the condition, and what comes later is used at once" },
      { file: "test/eventing-auth/deletion.test.ts", test: "is waited for, the condition says until when" },
      { file: `${source}/plan.test.ts`, test: "what was Ready says so no longer while the cluster is away" },
    ],
  },
  {
    number: 4,
    defect: "a deletion sticks for ever",
    proofs: [
      { file: "test/eventing-auth/deletion.test.ts", test: "is given up after the time that was set for it, with an Event" },
      {
        file: "test/eventing-auth/deletion.test.ts",
        test: "holds the deletion up, the condition says why, and it ends when the credentials are back",
      },
      { file: "test/eventing-auth/deletion.test.ts", test: "several applications of the name: the one whose id is known goes, the others stay" },
    ],
  },
  {
    number: 5,
    defect: "an application is deleted and made again at every failure",
    proofs: [
      { file: "test/eventing-auth/failures.test.ts", test: "it is not made anew again and again" },
      { file: "test/eventing-auth/identity-limits.test.ts", test: "a tenant that answers 429" },
    ],
  },
  {
    number: 6,
    defect: "losing the Secret changes the client id",
    proofs: [{ file: "test/eventing-auth/repair.test.ts", test: "with a new secret of the same application" }],
  },
  {
    number: 7,
    defect: "applications are known by name only; objects of one name in two namespaces destroy each other's credentials",
    proofs: [
      { file: "test/eventing-auth/names.test.ts", test: "after the first success duplicates change nothing" },
      { file: "test/eventing-auth/names.test.ts", test: "is told so, reaches no cluster and no application, and disturbs nobody who has its name" },
    ],
  },
  {
    number: 8,
    defect: "the application is remembered in memory: lost at a restart, and of the wrong tenant after a change",
    proofs: [
      { file: "test/eventing-auth/crashes.test.ts", test: "a crash anywhere in the creation leaves one application with one secret" },
      { file: "test/eventing-auth/repair.test.ts", test: "another tenant in the credentials means another application" },
      { file: "test/eventing-auth/leaders.test.ts", test: "issue one set of credentials (round %i)" },
    ],
  },
  {
    number: 9,
    defect: "a Secret that exists is taken for proof of an application",
    proofs: [
      { file: "test/eventing-auth/repair.test.ts", test: "an application that was deleted there is made again at the next check" },
      { file: "test/eventing-auth/repair.test.ts", test: "that somebody else made is left alone, and the condition says so" },
      { file: "test/eventing-auth/takeover.test.ts", test: "an application that %s stays" },
    ],
  },
  {
    number: 10,
    defect: "a Kyma that is being deleted gets credentials",
    proofs: [{ file: "test/eventing-auth/issuing.test.ts", test: "that is being deleted gets none" }],
  },
  {
    number: 11,
    defect: "an answer that is not JSON, or lacks a field, is a panic at every try",
    proofs: [{ file: "test/eventing-auth/failures.test.ts", test: "with a page of a proxy, or half an answer: an error like any other" }],
  },
  {
    number: 12,
    defect: "deleting a leftover that is gone meanwhile is a failure",
    proofs: [
      { file: "test/eventing-auth/identity-protocol.test.ts", test: "that does not exist is nothing to read, nothing to list and nothing to delete" },
    ],
  },
  {
    number: 13,
    defect: "the well-known document is fetched twice, and kept for life",
    proofs: [
      { file: "test/eventing-auth/issuing.test.ts", test: "costs six requests to the tenant, and none when nothing happens" },
      { file: "test/eventing-auth/repair.test.ts", test: "another tenant in the credentials means another application, and the Secret follows" },
    ],
  },
  {
    number: 14,
    defect: "what the tenant said is nowhere to be seen",
    proofs: [{ file: "test/eventing-auth/failures.test.ts", test: "its own words are in the condition and an Event" }],
  },
  {
    number: 15,
    defect: "environment variables are promised and not read",
    proofs: [{ file: "test/eventing-auth/original-defects.test.ts", test: "the variables that the predecessor reads are read" }],
  },
  {
    number: 16,
    defect: "the operator may read, and caches, every Secret of the control plane",
    proofs: [{ file: "test/eventing-auth/original-defects.test.ts", test: "Secrets are read in one namespace, and changed nowhere" }],
  },
  {
    number: 17,
    defect: "whoever writes a kubeconfig can run programs in the operator and read its files",
    proofs: [
      { file: "test/eventing-auth/failures.test.ts", test: "%s is refused, and nothing is made at the tenant" },
      { file: "packages/runtime/src/client/auth/kubeconfig.test.ts", test: "is refused, without a word of its content" },
    ],
  },
  {
    number: 18,
    defect: "client secrets live for ever, and http:// is accepted",
    proofs: [
      { file: "test/eventing-auth/rotation.test.ts", test: "an old client secret is replaced on the same application" },
      { file: "test/eventing-auth/failures.test.ts", test: "with an http:// URL where that is not allowed" },
    ],
  },
  {
    number: 19,
    defect: "any Secret of that name is deleted, whoever made it",
    proofs: [{ file: "test/eventing-auth/deletion.test.ts", test: "only a Secret of ours is deleted" }],
  },
  {
    number: 20,
    defect: "one hung request or cluster holds up everybody",
    proofs: [
      { file: "test/eventing-auth/failures.test.ts", test: "that hangs holds up no other" },
      { file: "test/eventing-auth/failures.test.ts", test: "by hanging: the object says so" },
    ],
  },
  {
    number: 21,
    defect: "no metrics, no Events; a Service for a port that is gone",
    proofs: [
      { file: "test/eventing-auth/original-defects.test.ts", test: "there are metrics of its own" },
      { file: "test/eventing-auth/repair.test.ts", test: "comes back within moments when it is deleted" },
      { notHere: "there is no Service in front of a proxy" },
    ],
  },
  {
    number: 22,
    defect: "the owner reference is refused where OwnerReferencesPermissionEnforcement is on",
    proofs: [
      { file: "test/eventing-auth/leaders.test.ts", test: "lets the Kyma own its EventingAuth, with the rights that are declared and no others" },
    ],
  },
  {
    number: 23,
    defect: "names are fixed, and SAP is the only provider",
    proofs: [
      { file: "test/eventing-auth/issuing-place.ts", test: "eventing-auth.target-namespace" },
      {
        file: "test/eventing-auth/openid.test.ts",
        test: "a Kyma gets a client of its own, whose token verifies, and leaves nothing behind when it goes",
      },
    ],
  },
];

const flags = (name: string): string | undefined => (name === "eventing-auth.provider" ? "ias" : undefined);
const controllers = eventingAuthFeature.controllers((flag) => flag.parse(flags(flag.name) ?? flag.default));

describe("the predecessor's defects", () => {
  test("every one of them is on the list, in order", () => {
    expect(defects.map(({ number }) => number)).toEqual(Array.from({ length: 23 }, (_, index) => index + 1));
  });

  test.each(defects)("$number: $defect", async ({ proofs }) => {
    for (const proof of proofs) {
      if ("notHere" in proof) continue;
      const text = await readFile(new URL(`../../${proof.file}`, import.meta.url), "utf8");
      expect(text, `${proof.file} has a test "${proof.test}"`).toContain(proof.test);
    }
  });
});

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
