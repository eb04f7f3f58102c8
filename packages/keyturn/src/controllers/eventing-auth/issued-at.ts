// When the credentials of an EventingAuth were issued, as far as its status tells.
import { type Condition, type DeepReadonly, findCondition } from "@keyturn/runtime";

/** What is known: exact if a token was issued for these very credentials, else since when there is a Secret at all. */
export interface IssuedAt {
  readonly atMs: number;
  readonly exact: boolean;
}

const date = /\d{4}-\d{2}-\d{2}T[\d:.]+Z/;

/** Reads the date that `tokenIssued` puts into the condition. */
export function issuedAtOf(conditions: readonly DeepReadonly<Condition>[] | undefined): IssuedAt | undefined {
  const checked = findCondition(conditions, "CredentialsValid");
  const checkedMs = checked?.status === "True" ? Date.parse(date.exec(checked.message)?.[0] ?? "") : Number.NaN;
  if (!Number.isNaN(checkedMs)) return { atMs: checkedMs, exact: true };
  const secret = findCondition(conditions, "SecretReady");
  const secretMs = secret?.status === "True" ? Date.parse(secret.lastTransitionTime ?? "") : Number.NaN;
  return Number.isNaN(secretMs) ? undefined : { atMs: secretMs, exact: false };
}
