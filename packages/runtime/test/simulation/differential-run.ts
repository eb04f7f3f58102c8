// Runs one script of API requests on a server and tells what happened, less what differs from server to server (uids, versions, dates).
import { keyOf } from "../../src/client/kind.ts";
import type { TransportRequest } from "../../src/client/transport.ts";
import type { KnownObject, ScriptStep } from "./random-writes.ts";

/** Sends one request to the server under test and reads the whole answer. */
export type Exchange = (request: TransportRequest) => Promise<{ readonly status: number; readonly body: string }>;

/** What one step came to. */
interface StepOutcome {
  readonly title: string;
  readonly request: string;
  readonly status: number;
  readonly body: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** Runs the steps in order. */
export async function runScript(exchange: Exchange, script: readonly ScriptStep[]): Promise<readonly StepOutcome[]> {
  const known = new Map<string, KnownObject>();
  const outcomes: StepOutcome[] = [];
  for (const step of script) {
    const key = `${step.kind.plural}/${keyOf(step)}`;
    const before = known.get(key);
    const request = step.request(before);
    const { status, body } = await exchange(request);
    const answer = fieldsOf(parsed(body));
    const metadata = fieldsOf(answer["metadata"]);
    const isDryRun = request.path.includes("dryRun");
    if (status < 300 && typeof metadata["uid"] === "string" && !isDryRun) {
      const resourceVersion = String(metadata["resourceVersion"]);
      const staleVersion =
        before === undefined || before.resourceVersion === resourceVersion ? (before?.staleVersion ?? "1") : before.resourceVersion;
      known.set(key, { uid: metadata["uid"], resourceVersion, staleVersion });
    }
    const moved =
      !isDryRun && before !== undefined && metadata["resourceVersion"] !== undefined
        ? metadata["resourceVersion"] !== before.resourceVersion
        : undefined;
    outcomes.push({
      title: step.title,
      request: `${request.method} ${request.path} ${request.body ?? ""}`,
      status,
      body: { moved, ...comparable(answer) },
    });
  }
  return outcomes;
}

/** An answer without what two servers cannot agree on; of a failure, what clients act on. */
export function comparable(answer: Fields): Fields {
  if (answer["kind"] === "Status") return { reason: answer["reason"], status: answer["status"] };
  const {
    uid: _uid,
    resourceVersion: _version,
    creationTimestamp: _created,
    deletionTimestamp,
    managedFields,
    ...metadata
  } = fieldsOf(answer["metadata"]);
  const owners = Array.isArray(managedFields) ? managedFields.map(undated) : [];
  return {
    ...answer,
    metadata: { ...metadata, deleting: deletionTimestamp !== undefined },
    owners: owners.map((owner) => JSON.stringify(owner, sortedKeys)).sort(),
  };
}

/** Reads what a finished watch delivered. */
export function watchOutcome(body: string): readonly unknown[] {
  return body
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => fieldsOf(JSON.parse(line)))
    .filter((event) => event["type"] !== "BOOKMARK")
    .map(comparableEvent);
}

function comparableEvent(event: Fields): Fields {
  return { type: event["type"], ...comparable(fieldsOf(event["object"])) };
}

function undated(entry: unknown): Fields {
  return { ...fieldsOf(entry), time: undefined };
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return { text: body };
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
