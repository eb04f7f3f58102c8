// A bare watch through a transport: its events as they come, without any of the runtime's own recovery.
import type { Transport } from "../client/transport.ts";

/** An event, as far as these tests look. */
export interface Line {
  readonly type: string;
  readonly object: {
    readonly code?: number;
    readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> };
  };
}

/** Events of a watch in arrival order; `ended` resolves to how it ended. */
export interface OpenWatch {
  readonly lines: readonly Line[];
  readonly ended: Promise<"end" | Error>;
}

/** Opens the watch and reads on by itself. */
export async function openWatch(transport: Transport, path: string): Promise<OpenWatch> {
  const { status, body } = await transport.send({ method: "GET", path, lane: "watch" });
  if (status !== 200) throw new Error(`watching ${path}: ${status}`);
  const lines: Line[] = [];
  const read = async (): Promise<"end" | Error> => {
    let rest = "";
    try {
      for await (const chunk of body) {
        const parts = (rest + Buffer.from(chunk).toString()).split("\n");
        rest = parts.pop() ?? "";
        lines.push(...parts.map((part) => JSON.parse(part) as Line));
      }
      return "end";
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  };
  return { lines, ended: read() };
}
