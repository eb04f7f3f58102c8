// Are all declared rights granted: one's own, or those of the operator's ServiceAccount?
import { type AccessSubject, missingAccess, rightInWords, type SingleRight, singleRights } from "@keyturn/runtime";
import type { Examination } from "./examination.ts";
import { fail, type Finding, ok } from "./finding.ts";

/** As many as are named one by one. */
const mostNamed = 12;

/** Asks the API server about every declared right. */
export async function checkRights({ client, access, namespaces, serviceAccount, signal }: Examination): Promise<readonly Finding[]> {
  const who = serviceAccount ? `ServiceAccount ${serviceAccount.namespace}/${serviceAccount.name}` : "you";
  const missing = await missingAccess(client, access, { namespaces, signal, ...(serviceAccount && { as: serviceAccountUser(serviceAccount) }) });
  const total = singleRights(access, namespaces).length;
  if (missing.length === 0) return [ok("rights", `${who} ${serviceAccount ? "has" : "have"} all ${total} rights that the controllers need`)];
  const todo = serviceAccount
    ? `apply what \`keyturn rbac --namespace=${serviceAccount.namespace} --service-account=${serviceAccount.name}\` prints, with the operator's own --controllers and --namespaces`
    : "these are your own rights; for those of the operator, say --as-service-account NAMESPACE/NAME";
  const lines = [...Map.groupBy(missing, ({ rule, namespace, name }) => JSON.stringify([rule, namespace, name])).values()].map((together) => {
    const [first] = together;
    return first ? `${who} may not ${together.map(({ verb }) => verb).join(", ")} ${objectInWords(first)}: needed ${first.rule.why}` : "";
  });
  const findings = lines.slice(0, mostNamed).map((line) => fail("rights", line, todo));
  const rest = lines.length - findings.length;
  return rest > 0
    ? [...findings, fail("rights", `and ${rest} more lines like these; ${missing.length} of ${total} rights are missing`, todo)]
    : findings;
}

/** What a right is about, without its verb. */
function objectInWords(right: SingleRight): string {
  return rightInWords(right).slice(right.verb.length + 1);
}

/** How the API server knows a ServiceAccount. */
function serviceAccountUser({ namespace, name }: { readonly namespace: string; readonly name: string }): AccessSubject {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}
