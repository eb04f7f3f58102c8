// Ports on 127.0.0.1 that nobody uses, from below the range that the system gives to outgoing connections, so that a server can come back to its own.
import { once } from "node:events";
import { createServer } from "node:net";
import { systemRandom } from "../../random.ts";
import type { Random } from "../../random.ts";

// Linux gives outgoing connections 32768–60999, macOS 49152–65535.
const lowest = 20_000;
const highest = 32_000;

/** Finds a port that is free now. Somebody else may take it before it is used; then try another. */
export async function freePort(random: Random = systemRandom): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = lowest + Math.floor(random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new Error(`looking for a free port on 127.0.0.1 between ${lowest} and ${highest}: 100 tried, all taken`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
