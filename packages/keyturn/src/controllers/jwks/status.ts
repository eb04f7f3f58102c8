// What an object's status says, made from what is published and what stands in the way.
import { type Condition, removeCondition, setCondition } from "@keyturn/runtime";
import type { JwksStatus } from "./api.ts";
import { type History, keyStatusOf, timestamp } from "./history-record.ts";
import { nextRemovalOf } from "./key-history.ts";
import type { ConditionReason } from "./reasons.ts";

/** One condition's verdict. */
export interface Verdict {
  readonly holds: boolean;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** What the status is made from. */
export interface StatusInput {
  readonly previous: JwksStatus | undefined;
  readonly generation: number | undefined;
  readonly nowMs: number;
  readonly history: History;
  /** The ConfigMap says what the sources say. */
  readonly published: Verdict;
  /** Pods answer with it; absent if none are asked for. */
  readonly served: Verdict | undefined;
  /** Retired keys had to go early; absent to leave what is said about it. */
  readonly truncated: Verdict | undefined;
  /** When nginx's configuration was last changed; absent if there is none. */
  readonly nginxConfigUpdated: string | undefined;
}

/** The whole status. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(input: StatusInput): JwksStatus {
  const { generation, history, nginxConfigUpdated } = input;
  const { jwksVerified } = input.previous ?? {};
  const nextRemovalMs = nextRemovalOf(history.keys);
  const [first] = history.keys;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: [...conditionsOf(input)],
    keyCount: history.keys.length,
    keys: history.keys.map(keyStatusOf),
    ...(history.revision > 0 && { revision: history.revision }),
    ...(history.updatedAtMs !== undefined && { lastUpdateTime: timestamp(history.updatedAtMs) }),
    ...(first?.standing.state === "Active" && { lastKeyID: first.jwk.kid }),
    ...(nextRemovalMs !== undefined && { nextRemoval: timestamp(nextRemovalMs) }),
    ...(nginxConfigUpdated !== undefined && { nginxConfigUpdated }),
    ...(jwksVerified !== undefined && { jwksVerified }),
  };
}

function conditionsOf({ previous, generation, nowMs, published, served, truncated }: StatusInput): readonly Condition[] {
  const blocking = [published, served].find((verdict) => verdict?.holds === false);
  const ready: Verdict = blocking ?? { holds: true, reason: "Ready", message: published.message };
  const set = (conditions: readonly Condition[], type: string, verdict: Verdict): readonly Condition[] => {
    const { holds, reason, message } = verdict;
    return setCondition(conditions, { type, status: holds ? "True" : "False", reason, message, observedGeneration: generation }, nowMs);
  };
  let conditions = set(previous?.conditions ?? [], "Ready", ready);
  conditions = set(conditions, "Published", published);
  conditions = served ? set(conditions, "Served", served) : removeCondition(conditions, "Served");
  if (!truncated) return conditions;
  return truncated.holds ? set(conditions, "Truncated", truncated) : removeCondition(conditions, "Truncated");
}
