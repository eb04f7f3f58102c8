import { createSocket, type Socket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { describe, expect, it, onTestFinished } from "vitest";
import { createNameLookup } from "./name-lookup.ts";

/** A name server that knows some names, and never answers for those of the silent domain. */
async function serve(known: Readonly<Record<string, string>>): Promise<{ readonly server: string; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const socket: Socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".");
    asked.push(name);
    if (name.endsWith(".silent.test")) return;
    const address = known[name];
    const isV4 = query.readUInt16BE(at + 1) === 1;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(address === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(address !== undefined && isV4 ? 1 : 0, 6);
    head.writeUInt16BE(0, 10);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...(address ?? "").split(".").map(Number)]);
    const parts = [head, query.subarray(12, at + 5), ...(address !== undefined && isV4 ? [answer] : [])];
    socket.send(Buffer.concat(parts), from.port, from.address);
  });
  await new Promise<void>((resolve) => void socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => void socket.close());
  const { port } = socket.address();
  return { server: `127.0.0.1:${port}`, asked };
}

function open({ server }: { readonly server: string }, resolvConf = ""): (name: string) => Promise<readonly LookupAddress[]> {
  const lookup = createNameLookup({ servers: [server], resolvConf });
  return (name) =>
    new Promise((resolve, reject) => {
      lookup(name, { all: true }, (error, found) => (error ? reject(error) : resolve(found as LookupAddress[])));
    });
}

describe("a lookup of names", () => {
  it("lets no name wait for others whose servers are silent", async () => {
    const find = open(await serve({ "api.healthy.test": "127.0.0.7" }));
    let silent = 50;
    for (let count = 0; count < 50; count++) void find(`api.r${count}.silent.test`).catch(() => silent--);
    expect(await find("api.healthy.test")).toEqual([{ address: "127.0.0.7", family: 4 }]);
    // In the thread pool of this process nobody waits for them either.
    expect((await find("localhost")).length).toBeGreaterThan(0);
    expect(silent).toBe(50);
  });

  it.each([
    ["api.team.svc", ["api.team.svc.here.test", "api.team.svc.test"]],
    ["a.b.c.d.e.test", ["a.b.c.d.e.test"]],
    ["api.team.svc.test.", ["api.team.svc.test"]],
  ])("completes %s as resolv.conf has it", async (name, wanted) => {
    const server = await serve({ "api.team.svc.test": "127.0.0.8", "a.b.c.d.e.test": "127.0.0.8" });
    const found = await open(server, "nameserver 127.0.0.1\nsearch here.test test\noptions edns0 ndots:5\n")(name);
    expect(found).toEqual([{ address: "127.0.0.8", family: 4 }]);
    expect([...new Set(server.asked)]).toEqual(wanted);
  });

  it("says of a name that nobody knows that it is not found", async () => {
    await expect(open(await serve({}))("nobody.invalid")).rejects.toMatchObject({ code: expect.stringMatching(/^(?:ENOTFOUND|EAI_AGAIN)$/) });
  });
});
