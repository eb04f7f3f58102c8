// The Secret in the runtime's cluster: what is kept of it in memory, whose it is, and how it is written.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { marked, type Owner, type Ownership, ownershipOf, type Secret, type Stored } from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { Application, Endpoints } from "./identity/provider.ts";

/** Which application the credentials are of. */
const applicationAnnotation = "keyturn.io/application";
/** Names the client secret among those of its application. */
const hintAnnotation = "keyturn.io/secret-hint";
/** Shows whether the client secret is still the one that was written. */
const digestAnnotation = "keyturn.io/secret-digest";
/** When the client secret was issued. */
const issuedAtAnnotation = "keyturn.io/issued-at";

/** What is kept in memory: everything but the client secret. */
export interface TargetSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Its metadata as far as it says whose it is. */
  readonly object: Pick<Stored<Secret>, "metadata">;
  readonly clientId: string | undefined;
  readonly tokenUrl: string | undefined;
  readonly certsUrl: string | undefined;
  /** Of the client secret that is in it; undefined if there is none. */
  readonly digest: string | undefined;
  /** What was noted when it was written. */
  readonly noted: { readonly application: string | undefined; readonly hint: string | undefined; readonly digest: string | undefined };
  /** When its client secret was issued, or else when the Secret was made. */
  readonly issuedAtMs: number;
}

/** Reduces a Secret to what is kept of it. Its cluster is somebody else's, and need not keep to the shape of a Secret. */
export function keepTargetSecret({ metadata, data }: Stored<Secret>): TargetSecret {
  const { uid, resourceVersion, name, creationTimestamp = "" } = metadata;
  const texts = textsIn(data);
  // No others: kubectl notes all that it applied in an annotation, client secrets included.
  const annotations = textsIn(metadata.annotations, `${keyturn.domain}/`);
  const clientSecret = decoded(texts["client_secret"]);
  const issuedAtMs = [annotations[issuedAtAnnotation], creationTimestamp].map((text) => Date.parse(text ?? "")).find((ms) => !Number.isNaN(ms));
  return {
    uid,
    resourceVersion,
    object: { metadata: { name, uid, resourceVersion, labels: textsIn(metadata.labels), annotations } },
    clientId: decoded(texts["client_id"]),
    tokenUrl: decoded(texts["token_url"]),
    certsUrl: decoded(texts["certs_url"]),
    digest: clientSecret === undefined ? undefined : digestOf(clientSecret),
    noted: { application: annotations[applicationAnnotation], hint: annotations[hintAnnotation], digest: annotations[digestAnnotation] },
    issuedAtMs: issuedAtMs ?? 0,
  };
}

/** The members that are texts, of those whose names begin in this way. */
function textsIn(value: unknown, beginning = ""): Readonly<Record<string, string>> {
  const entries: readonly [string, unknown][] = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[0].startsWith(beginning) && typeof entry[1] === "string"));
}

/** Whose a Secret is. */
export function ownershipOfTarget({ object }: Pick<TargetSecret, "object">, owner: Owner): Ownership {
  return ownershipOf(object, keyturn, owner);
}

/** Whether a Secret is of an application. One without a client ID has none. */
export function isUsedBy(secret: TargetSecret | undefined, { clientId }: Application): secret is TargetSecret {
  return clientId !== undefined && secret?.clientId === clientId;
}

/** What is written to a runtime's cluster. */
export interface TargetContent {
  readonly place: { readonly namespace: string; readonly name: string };
  readonly owner: Owner;
  readonly application: string;
  readonly endpoints: Endpoints;
  readonly issuedAtMs: number;
  readonly credentials:
    | { readonly type: "new"; readonly clientId: string; readonly clientSecret: string; readonly hint: string }
    /** The client secret that is there stays; it is not even read. */
    | { readonly type: "kept"; readonly digest: string; readonly hint: string | undefined };
}

/** The Secret to apply. */
export function targetSecretObject({ place, owner, application, endpoints, issuedAtMs, credentials }: TargetContent): Secret {
  const digest = credentials.type === "new" ? digestOf(credentials.clientSecret) : credentials.digest;
  const annotations = {
    [applicationAnnotation]: application,
    [digestAnnotation]: digest,
    [issuedAtAnnotation]: new Date(issuedAtMs).toISOString(),
    ...(credentials.hint !== undefined && { [hintAnnotation]: credentials.hint }),
  };
  const data = {
    ...(credentials.type === "new" && { client_id: credentials.clientId, client_secret: credentials.clientSecret }),
    token_url: endpoints.tokenUrl,
    certs_url: endpoints.jwksUrl,
  };
  const encoded = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
  const secret: Secret = { metadata: { ...place, annotations }, type: "Opaque", data: encoded };
  return marked(secret, keyturn, owner);
}

/** The credentials in a Secret that was just read; undefined if they are not complete. */
export function credentialsIn({ data = {} }: Secret): { readonly clientId: string; readonly clientSecret: string } | undefined {
  const clientId = decoded(data["client_id"]);
  const clientSecret = decoded(data["client_secret"]);
  return clientId === undefined || clientSecret === undefined ? undefined : { clientId, clientSecret };
}

/** Client secrets are long and random, so nobody finds one by its digest. */
function digestOf(clientSecret: string): string {
  return createHash("sha256").update(clientSecret).digest("hex").slice(0, 32);
}

function decoded(base64: string | undefined): string | undefined {
  return base64 ? Buffer.from(base64, "base64").toString("utf8") : undefined;
}
