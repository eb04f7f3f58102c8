// Reads the content of Secrets when a generation is written. Nothing of it stays in memory.
import { type Client, collectionPath, Secret, type Selection } from "@keyturn/runtime";
import * as z from "zod";
import { contentDigestOf } from "../controllers/checksum/secret-id.ts";
import type { ReadSecret, ReadSecrets } from "./generation-store.ts";
import { filesOf } from "./secret-folder.ts";

const data = z.record(z.string(), z.string()).nullish();
const pageSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data })),
});

/** A page of Secrets is about a megabyte, and all that is held of a namespace's contents at any time. */
const pageSize = 200;
/** Up to so many Secrets are read one by one; more of them with the rest of their namespace, in pages. */
const mostSingleReads = 100;

/** Reads from the API server's latest state. Rejects as `Client` does. */
export function secretSource(client: Client, selection: Selection & { readonly namespace: string }, signal: AbortSignal): ReadSecrets {
  const { namespace } = selection;

  async function* readSingly(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    for (const name of names) {
      const secret = await client.get(Secret, { namespace, name }, signal);
      if (secret) yield asRead(name, secret.data ?? {});
    }
  }

  async function* readPages(names: ReadonlySet<string>): ReturnType<ReadSecrets> {
    const query = new URLSearchParams({ limit: String(pageSize) });
    if (selection.labels) query.set("labelSelector", selection.labels);
    if (selection.fields) query.set("fieldSelector", selection.fields);
    for (;;) {
      const page = pageSchema.parse(
        await client.request({ method: "GET", path: `${collectionPath(Secret, namespace)}?${query.toString()}` }, signal),
      );
      for (const item of page.items) if (names.has(item.metadata.name)) yield asRead(item.metadata.name, item.data ?? {});
      if (!page.metadata.continue) return;
      query.set("continue", page.metadata.continue);
    }
  }

  return (names) => (names.size > mostSingleReads ? readPages(names) : readSingly(names));
}

function asRead(name: string, content: Readonly<Record<string, string>>): ReadSecret {
  return { name, digest: contentDigestOf(content), files: filesOf(content) };
}
