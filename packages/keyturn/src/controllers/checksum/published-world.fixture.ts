// A namespace in memory, for tests of the plan: what carrying plans out makes of its checksums.
import { statusAfter, type Stored } from "@keyturn/runtime";
import { SecretCheckSum } from "./api.ts";
import { type AnnouncedChange, type AnnouncementKey, confirmationOf, nothingElse, signed, withChanges } from "./announcement.ts";
import {
  carriedPeaks,
  type CheckSumObject,
  checkSumObject,
  keepCheckSum,
  madeMsOf,
  named,
  type PublishedCheckSum,
  rfc3339,
  withPeaks,
} from "./check-sum-object.ts";
import { leftOut, type Member } from "./ids.ts";
import { MemberSet, type SetState } from "./members.ts";
import { defaultLimits } from "./blast-radius.ts";
import { newestSettled } from "./history.ts";
import { wordsOf } from "./words.ts";
import { type ChecksumPlan, planChecksum, type PublishingPolicy } from "./plan.ts";

export const policy: PublishingPolicy = {
  keep: 2,
  keepForMs: 600_000,
  maxAnnouncementMs: 3_600_000,
  publishEmpty: false,
  limits: defaultLimits,
  signedOnly: false,
};
const place = { namespace: "shop", prefix: "secret" };

/** The state of Secrets given as `number-version`. */
function stateOf(...ids: readonly string[]): SetState {
  return setOf(...ids).state();
}

function setOf(...ids: readonly string[]): MemberSet {
  const set = new MemberSet();
  ids.forEach((id, index) => set.set(`object-${index}`, { state: "counted", id, digest: undefined } satisfies Member));
  return set;
}

/** The namespace. */
export class PublishedWorld {
  /** A Sunday. */
  nowMs = Date.UTC(2026, 10, 15, 12);
  policy = policy;
  /** Of those who may announce. */
  keys: readonly AnnouncementKey[] = [];
  scopeArguments: readonly string[] = [];
  readonly objects = new Map<string, Stored<CheckSumObject>>();
  #live = new MemberSet();

  /** From now on only what one of them has signed counts. */
  askForSignatures(keys: readonly AnnouncementKey[]): void {
    this.keys = keys;
    this.policy = { ...this.policy, signedOnly: true };
  }

  setLive(...ids: readonly string[]): void {
    this.#live = setOf(...ids);
  }

  /** By name. */
  setObjects(objects: Readonly<Record<string, string>>): void {
    this.#live = new MemberSet();
    for (const [name, id] of Object.entries(objects)) this.#live.set(name, { state: "counted", id, digest: undefined });
  }

  /** An object loses its version. */
  leaveOut(name: string): void {
    this.#live.set(name, leftOut("VersionMissing"));
  }

  get state(): SetState {
    return this.#live.state();
  }

  /** Newest first, as their ids. */
  get published(): readonly string[] {
    const newestFirst = [...this.objects.values()].sort((left, right) => Date.parse(right.spec.timestamp) - Date.parse(left.spec.timestamp));
    return newestFirst.map(({ spec }) => (spec.ids ?? []).join(" "));
  }

  plan(): ChecksumPlan {
    const published: readonly PublishedCheckSum[] = [...this.objects.values()].map(keepCheckSum(place.prefix, this.keys));
    const member = (name: string): Member | undefined => this.#live.get(name);
    const counting = this.objects.get(newestSettled(published)?.object.metadata.name ?? "");
    const { scopeArguments } = this;
    const observation = {
      ...place,
      scopeArguments,
      state: this.state,
      problems: this.#live.problems(),
      member,
      published,
      publishedIds: counting?.spec.ids,
    };
    return planChecksum(observation, this.policy, { nowMs: this.nowMs, refused: new Map() });
  }

  /** Carries a plan out, or only its first `most` writes, as a crash would leave it. */
  carryOut(plan: ChecksumPlan, most = Infinity): void {
    const writes = [
      ...(plan.publish ? [() => plan.publish && this.create(plan.publish)] : []),
      ...plan.removals.map(
        ({ name }) =>
          () =>
            void this.objects.delete(name),
      ),
      ...plan.statuses.map(({ checksum: { object }, conditions: reported, fields = {} }) => () => {
        const stored = this.objects.get(object.metadata.name);
        const { conditions } = statusAfter({ regarding: { kind: SecretCheckSum, object }, conditions: reported }, object.status, this.nowMs);
        if (stored) this.objects.set(object.metadata.name, { ...stored, status: { ...fields, conditions: [...(conditions ?? [])] } });
      }),
    ];
    for (const write of writes.slice(0, most)) write();
  }

  /** Plans and carries out until there is nothing left to write. */
  settle(): ChecksumPlan {
    for (let run = 0; run < 5; run++) {
      const before = JSON.stringify([...this.objects]);
      const plan = this.plan();
      this.carryOut(plan);
      if (JSON.stringify([...this.objects]) === before) return plan;
    }
    throw new Error("the plan never comes to rest");
  }

  announce(expiresInMs: number, ...ids: readonly string[]): string {
    const timestampMs = Math.max(this.nowMs, ...[...this.objects.values()].map((object) => madeMsOf(object) + 1000));
    const object = checkSumObject(stateOf(...ids), { ...place, timestampMs, announcement: { expires: rfc3339(this.nowMs + expiresInMs) } });
    this.create(object);
    return object.metadata.name ?? "";
  }

  /** Announces single changes, over the objects as they are. */
  announceChanges(expiresInMs: number, changes: readonly AnnouncedChange[], key?: AnnouncementKey): string {
    const timestampMs = Math.max(this.nowMs, ...[...this.objects.values()].map((object) => madeMsOf(object) + 1000));
    const announcement = { expires: rfc3339(this.nowMs + expiresInMs), changes: [...changes] };
    const intended = stateOf(...withChanges(this.state.ids, changes).toSorted());
    const { spec } = checkSumObject(intended, { ...place, timestampMs, announcement });
    const statement = { namespace: place.namespace, kind: SecretCheckSum.kind, spec };
    const published = [...this.objects.values()].map(keepCheckSum(place.prefix, this.keys));
    const object = named(place.namespace, place.prefix, { ...spec, announcement: key ? signed(statement, key) : announcement });
    this.create(withPeaks(object, carriedPeaks(newestSettled(published), changes)));
    return object.metadata.name ?? "";
  }

  /** Lets the objects as they are through, as `keyturn checksum allow` does. */
  allow(key?: AnnouncementKey): void {
    const newestFirst = [...this.objects.values()].sort((left, right) => Date.parse(right.spec.timestamp) - Date.parse(left.spec.timestamp));
    const words = key ? wordsOf(newestFirst.map(keepCheckSum(place.prefix, this.keys))).newest : new Map();
    const gone = Array.from(words).flatMap(([name, { change }]) =>
      change.to === undefined || this.#live.get(name)?.state === "counted" ? [] : [{ name, from: change.to }],
    );
    const confirmed = confirmationOf(newestFirst[0]?.spec.ids ?? [], this.#live, gone);
    this.announceChanges(60_000, key || this.state.ids.length === 0 ? [nothingElse, ...confirmed] : confirmed, key);
  }

  create(object: CheckSumObject): void {
    const name = object.metadata.name ?? "";
    this.objects.set(name, {
      ...object,
      kind: SecretCheckSum.kind,
      metadata: { ...object.metadata, name, uid: name, resourceVersion: "1", creationTimestamp: rfc3339(this.nowMs) },
    });
  }

  /** What the condition `Current` of the checksum with these ids says. */
  standing(ids: string): string | undefined {
    const object = [...this.objects.values()].find(({ spec }) => (spec.ids ?? []).join(" ") === ids);
    const condition = object?.status?.conditions?.find(({ type }) => type === "Current");
    return condition && `${condition.status} ${condition.reason}`;
  }
}
