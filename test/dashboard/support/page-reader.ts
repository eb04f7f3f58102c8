// A page without a browser: reads the dashboard's stream as the page does, and keeps every byte that it got.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { Changes, DashboardRecord, End, Hello, LaneTrack, ObjectRecord, SnapshotPart, StageRecord } from "@keyturn/dashboard/contract";

/** An answer as a whole. */
interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** What a request says. */
interface Asking {
  readonly bearer?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
}

/** Asks, and reads the answer to its end. */
export async function ask(url: string, { bearer, headers = {}, method = "GET" }: Asking = {}): Promise<Answer> {
  const response = await answerTo(url, { method, headers: { ...headers, ...authorization(bearer) } });
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += chunk;
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

async function answerTo(
  url: string,
  options: { readonly method?: string; readonly headers: Readonly<Record<string, string>> },
): Promise<IncomingMessage> {
  const request = get(url, { ...options, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response;
}

function authorization(bearer: string | undefined): Readonly<Record<string, string>> {
  return bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
}

/** An open page. */
export interface PageReader extends Disposable {
  readonly hello: Hello | undefined;
  /** What it shows, by id. */
  readonly records: ReadonlyMap<string, DashboardRecord>;
  /** The names of the events that it got, in order. */
  readonly events: readonly string[];
  readonly lastEventId: string | undefined;
  readonly end: End | undefined;
  /** True when the connection is over. */
  readonly closed: boolean;
  /** Everything that was received. */
  readonly bytes: string;
  /** The records of one table. */
  table(id: string): readonly ObjectRecord[];
  readonly stages: readonly StageRecord[];
  /** Reads nothing more for now; what is sent piles up on the way. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens a page; rejects with the answer if it is not a stream. */
export async function openPage(
  url: string,
  { bearer, lastEventId }: { readonly bearer: string; readonly lastEventId?: string | undefined },
): Promise<PageReader> {
  const response = await answerTo(`${url}api/stream`, {
    headers: { ...authorization(bearer), ...(lastEventId !== undefined && { "last-event-id": lastEventId }) },
  });
  if (response.statusCode !== 200) throw new Error(`the stream was answered with ${response.statusCode}`);
  return new StreamReader(response);
}

class StreamReader implements PageReader {
  readonly #response: IncomingMessage;
  readonly events: string[] = [];
  records = new Map<string, DashboardRecord>();
  #aside = new Map<string, DashboardRecord>();
  #rest = "";
  hello: Hello | undefined;
  lastEventId: string | undefined;
  end: End | undefined;
  closed = false;
  bytes = "";

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding("utf8").on("data", (chunk: string) => this.#take(chunk));
    for (const event of ["close", "error"]) response.on(event, () => (this.closed = true));
  }

  table(id: string): readonly ObjectRecord[] {
    const objects = Array.from(this.records.values()).filter((record) => record.type === "object");
    return objects.filter(({ table }) => table === id);
  }

  get stages(): readonly StageRecord[] {
    return Array.from(this.records.values()).filter((record) => record.type === "step");
  }

  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#response.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #take(chunk: string): void {
    this.bytes += chunk;
    const frames = (this.#rest + chunk).split("\n\n");
    this.#rest = frames.pop() ?? "";
    for (const frame of frames) {
      const fields = new Map(frame.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
      this.lastEventId = fields.get("id") ?? this.lastEventId;
      this.#event(fields.get("event") ?? "", JSON.parse(fields.get("data") ?? "null") as unknown);
    }
  }

  #event(event: string, data: unknown): void {
    this.events.push(event);
    if (event === "hello") this.hello = data as Hello;
    if (event === "end") this.end = data as End;
    if (event === "snapshot") {
      const { first, last, records } = data as SnapshotPart;
      if (first) this.#aside = new Map();
      for (const record of records) this.#aside.set(record.id, record);
      if (last) this.records = this.#aside;
    }
    if (event === "changes") {
      const { upserts, removals } = data as Changes;
      this.records = new Map(this.records);
      for (const record of upserts) this.records.set(record.id, record);
      for (const id of removals) this.records.delete(id);
    }
  }
}

/** The namespaces of the records of a table: they come in any order. */
export function namespacesIn(page: PageReader, table: string): readonly string[] {
  return page
    .table(table)
    .map(({ ref }) => ref.namespace)
    .toSorted();
}

/** The lanes of a record: of a rotation set its source and then its targets, of a key set its keys. */
export function lanesOf(record: ObjectRecord | undefined): readonly LaneTrack[] {
  return (record?.tracks ?? []).filter((track) => track.type === "lane");
}
