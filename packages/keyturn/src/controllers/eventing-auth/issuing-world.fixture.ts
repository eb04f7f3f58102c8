// A world in miniature for tests of the plan: one EventingAuth, one tenant, one cluster, and steps that do there what the real ones do.
import type { Stored } from "@keyturn/runtime";
import {
  abandonAnnotation,
  askedAtAnnotation,
  type EventingAuth,
  eventingAuthFinalizer,
  type EventingAuthStatus,
  providerAnnotation,
} from "./api.ts";
import { shownWithin } from "./application-choice.ts";
import { planDeletionStep } from "./deletion-plan.ts";
import type { Trace } from "./identity/provider.ts";
import { planStep } from "./plan.ts";
import type { Act, Idle, Look } from "./step.ts";
import { type Observation, ownerOfObservation, type ObservedTenant } from "./observe.ts";
import { type ConditionReports, reportOf, type StatusFacts, statusOf, tokenIssued } from "./conditions.ts";
import { keepTargetSecret, type TargetContent, type TargetSecret, targetSecretObject } from "./target-secret.ts";
import type { TargetTrouble } from "./target.ts";

export const endpoints = { issuer: "https://tenant", tokenUrl: "https://tenant/token", jwksUrl: "https://tenant/certs" };

/** An application of the miniature tenant. */
interface WorldApplication {
  readonly id: string;
  readonly clientId: string;
  readonly trace: Trace;
  readonly secrets: Map<string, string>;
}

/** Where a run is cut off. */
export type Crash = { readonly atAct: number; readonly moment: "before" | "between" | "after" };

const place = { namespace: "kyma-system", name: "eventing-webhook-auth" };

/** The world. */
export class IssuingWorld {
  readonly applications = new Map<string, WorldApplication>();
  secret: TargetSecret | undefined;
  /** The client secret that is in the cluster. */
  clientSecret: string | undefined;
  status: EventingAuthStatus | undefined;
  deletedAt: string | undefined;
  abandon: string | undefined;
  released = false;
  trouble: TargetTrouble | undefined;
  clientIdFrom: "first-secret" | "creation" = "first-secret";
  served = true;
  /** What the tenant keeps of descriptions, and shows of them. */
  descriptions: "listed" | "by id" | "not kept" = "listed";
  /** What the annotation for it names. */
  adopts: Observation["adopts"];
  /** Whether the applications of other objects are there. */
  others = { asked: 0, missing: 0 };
  replaces = false;
  /** When an application was last asked for. */
  askedAt: string | undefined;
  /** When this process knows to have asked, whatever the annotation says. */
  rememberedAtMs: number | undefined;
  closed: string | undefined;
  /** The tenant that the credentials are for, and the one at which the application was last seen. */
  url = "https://tenant";
  seenAt: string | undefined;
  providerTimeoutMs = 10_000;
  nowMs = Date.parse("2026-01-01T00:00:00Z");
  rotateAfterMs = 0;
  overlapMs = 0;
  abandoned: readonly string[] = [];
  /** For how long client secrets work, and how many were issued. */
  lifetimeMs: number | undefined;
  issued = 0;
  readonly #validTo = new Map<string, number>();
  #made = 0;

  get object(): Stored<EventingAuth> {
    const metadata = {
      namespace: "kcp-system",
      name: "runtime",
      uid: "uid",
      resourceVersion: "1",
      generation: 1,
      finalizers: [eventingAuthFinalizer],
      ...(this.deletedAt && { deletionTimestamp: this.deletedAt }),
      annotations: {
        ...(this.abandon && { [abandonAnnotation]: this.abandon }),
        ...(this.askedAt && { [askedAtAnnotation]: this.askedAt }),
        ...(this.seenAt && { [providerAnnotation]: this.seenAt }),
      },
    };
    return { metadata, spec: {}, ...(this.status && { status: this.status }) };
  }

  observe(tenant: ObservedTenant = {}): Observation {
    return {
      object: this.object,
      ...(!this.served && { refusal: { holds: false, reason: "NamespaceNotServed", message: "elsewhere" } }),
      ...(this.adopts && { adopts: this.adopts }),
      target: { type: "observed", secret: this.secret, ...(this.trouble && { trouble: this.trouble }) },
      provider:
        this.closed === undefined
          ? { type: "open", url: this.url, secretsOverlap: true, keepsGrants: false, replaces: this.replaces }
          : { type: "closed", message: this.closed },
      tenant,
      ...(this.rememberedAtMs !== undefined && { askedAtMs: this.rememberedAtMs }),
      settings: {
        targetSecret: place,
        rotateAfterMs: this.rotateAfterMs,
        overlapMs: this.overlapMs,
        checkCredentials: true,
        deletionPatienceMs: 3_600_000,
        shownWithinMs: shownWithin(this.providerTimeoutMs),
      },
    };
  }

  /** Makes an application, as somebody else would. */
  makeApplication(trace: Trace = "text"): WorldApplication {
    const id = `application-${++this.#made}`;
    const application: WorldApplication = { id, clientId: `client-${this.#made}`, trace, secrets: new Map() };
    this.applications.set(id, application);
    return application;
  }

  /** As the tenant shows it: there is none before the first secret. */
  clientIdOf({ clientId, secrets }: WorldApplication): string | undefined {
    return this.clientIdFrom === "creation" || secrets.size > 0 ? clientId : undefined;
  }

  /** Adds a client secret by hand. */
  makeSecret({ secrets }: WorldApplication): string {
    const hint = `hint-${++this.#made}`;
    secrets.set(hint, `secret-${this.#made}`);
    return hint;
  }

  /** Writes the Secret by hand; without credentials, as somebody else would. */
  putSecret(content: Pick<TargetContent, "application" | "credentials">, issuedAtMs = this.nowMs): void {
    const object = targetSecretObject({ place, owner: ownerOfObservation(this), endpoints, issuedAtMs, ...content });
    const {
      clientId = this.secret?.clientId,
      digest = this.secret?.digest,
      ...kept
    } = keepTargetSecret({
      ...object,
      metadata: { ...object.metadata, name: place.name, uid: "secret", resourceVersion: String(++this.#made) },
    });
    this.secret = { ...kept, clientId, digest };
    if (content.credentials.type === "new") this.clientSecret = content.credentials.clientSecret;
  }

  /** True if a token would be given for what is in the cluster. */
  get accepts(): boolean {
    const application = [...this.applications.values()].find(({ clientId }) => clientId === this.secret?.clientId);
    return application?.secrets.values().some((secret) => secret === this.clientSecret) ?? false;
  }

  /** Runs until there is nothing more to do, or the crash. Resolves to what the plan comes to; undefined after a crash or when the object was let go. */
  run(crash?: Crash): Idle | undefined {
    let tenant: ObservedTenant = {};
    for (let steps = 0, acts = 0; steps < 40; steps++) {
      const observation = this.observe(tenant);
      const step = this.deletedAt ? planDeletionStep(observation, this.nowMs) : planStep(observation, this.nowMs);
      if (step.type === "idle") {
        const secret = { clusterId: "runtime", namespacedName: "kyma-system/eventing-webhook-auth" };
        this.#report(step.reports, step.reports.secret?.holds ? { secret } : {});
        return step;
      }
      if (step.type === "release") {
        this.abandoned = step.abandoned;
        this.released = true;
        return undefined;
      }
      if (step.type === "look") {
        tenant = Object.assign({}, tenant, this.#look(step));
        continue;
      }
      const here = crash?.atAct === acts++ ? crash.moment : undefined;
      if (here === "before") return undefined;
      const after = this.#act(step, tenant, here === "between");
      if (!after || here === "after") return undefined;
      tenant = after;
    }
    throw new Error("not idle after 40 steps");
  }

  #report(reports: ConditionReports, facts: StatusFacts): void {
    this.status = statusOf(reportOf(this.object, reports, facts), this.object, this.nowMs);
  }

  #look(step: Look): ObservedTenant {
    if (step.at === "endpoints") return { endpoints };
    if (step.at === "namesakes")
      return {
        namesakes: Array.from(this.applications.values(), ({ id, trace }) => ({ id, trace: this.descriptions === "listed" ? trace : "none" })),
      };
    if (step.at === "others") return { others: this.others };
    const application = this.applications.get(step.id);
    if (step.at === "secrets")
      return { secrets: Array.from(application?.secrets.keys() ?? [], (hint) => ({ hint, validToMs: this.#validTo.get(hint) })) };
    if (!application) return step.at === "application" ? { application: "gone" } : { candidate: "gone" };
    const observed = {
      id: application.id,
      clientId: this.clientIdOf(application),
      trace: this.descriptions === "not kept" ? "none" : application.trace,
    } as const;
    return step.at === "application" ? { application: observed } : { candidate: { ...observed, hasCredentials: application.secrets.size > 0 } };
  }

  /** Undefined if it was cut off in the middle: what is made at the tenant stays, what should have followed does not happen. */
  #act(step: Act, tenant: ObservedTenant, cut: boolean): ObservedTenant | undefined {
    const record = (iasApplication: { name: string; uuid: string }): void => {
      this.#report({}, { iasApplication });
    };
    switch (step.type) {
      case "create": {
        [this.askedAt, this.seenAt] = [new Date(this.nowMs).toISOString(), this.url];
        const { id } = this.makeApplication("ours");
        if (cut) return undefined;
        record({ name: "runtime", uuid: id });
        return { endpoints, application: { id, clientId: undefined, trace: "ours" }, secrets: [] };
      }
      case "redate":
        this.askedAt = new Date(this.nowMs).toISOString();
        return tenant;
      case "settle":
        [this.askedAt, this.rememberedAtMs] = [undefined, undefined];
        return tenant;
      case "locate":
        this.seenAt = this.url;
        return tenant;
      case "adopt":
        record({ name: "runtime", uuid: step.id });
        return { endpoints };
      case "forget":
        if (this.status) {
          const { iasApplication: _gone, ...status } = this.status;
          this.status = status;
        }
        return { endpoints };
      case "deleteApplication":
        this.applications.delete(step.id);
        if (cut) return undefined;
        if (this.deletedAt) [this.askedAt, this.rememberedAtMs] = [undefined, undefined];
        if (step.id !== this.status?.iasApplication?.uuid)
          return { ...tenant, namesakes: tenant.namesakes?.filter(({ id }) => id !== step.id) ?? [] };
        return { application: "deleted" };
      case "issue": {
        const application = this.applications.get(step.application.id);
        if (!application) return undefined;
        const hint = this.makeSecret(application);
        this.issued++;
        if (this.lifetimeMs !== undefined) this.#validTo.set(hint, this.nowMs + this.lifetimeMs);
        if (cut) return undefined;
        const clientSecret = application.secrets.get(hint) ?? "";
        this.putSecret({ application: application.id, credentials: { type: "new", clientId: application.clientId, clientSecret, hint } });
        const { id, clientId, trace } = application;
        const { credentials: _before, ...rest } = tenant;
        return { ...rest, application: { id, clientId, trace }, secrets: [...(tenant.secrets ?? []), { hint, validToMs: undefined }] };
      }
      case "mend":
        this.putSecret(
          { application: step.application.id, credentials: { type: "kept", digest: this.secret?.digest ?? "", hint: this.secret?.noted.hint } },
          this.secret?.issuedAtMs,
        );
        return tenant;
      case "deleteSecrets":
        for (const hint of step.hints) {
          this.applications.get(step.id)?.secrets.delete(hint);
          if (cut) return undefined;
        }
        return { ...tenant, secrets: tenant.secrets?.filter(({ hint }) => !step.hints.includes(hint)) ?? [] };
      case "check":
        return {
          ...tenant,
          credentials: this.accepts
            ? tokenIssued(this.secret?.issuedAtMs ?? 0)
            : { holds: false, reason: "CredentialsRefused", message: "the token endpoint does not accept the credentials" },
        };
      case "deleteTargetSecret":
        this.secret = this.clientSecret = undefined;
        return tenant;
      case "forgetGrant":
      default:
        return tenant;
    }
  }
}
