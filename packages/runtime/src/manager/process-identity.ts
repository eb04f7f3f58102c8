// The name under which a process holds Leases.
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:net";
import { hostname } from "node:os";

/** A name that no other process has for as long as it is not disposed of. */
export interface ClaimedIdentity extends AsyncDisposable {
  readonly identity: string;
}

/**
 * The host, which in a cluster is the pod, for people; and what tells this process from all others.
 *
 * In a pod, that is the pod's uid: a container that is started again has the name of the one before and takes its Leases at once. Only one process can be
 * it, and the proof is the kernel's: whoever has the pod's name holds a socket of that name, which all containers of a pod see and which is gone the moment
 * its process is dead. One that cannot have it, because somebody runs the operator a second time within the pod, is a process like any other and waits.
 */
export async function claimIdentity(operator: string, podUid: string | undefined): Promise<ClaimedIdentity> {
  const held = podUid !== undefined && /^[\w-]{1,64}$/.test(podUid) ? await holdName(`${operator}/${podUid}`) : undefined;
  return {
    identity: `${hostname()}_${held ? podUid : randomUUID()}`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => (held ? held.close(() => resolve()) : resolve())),
  };
}

/** Linux's abstract sockets: no file, one name in a network namespace. Elsewhere there is no such thing, and no pod either. */
function holdName(name: string): Promise<Server | undefined> {
  if (process.platform !== "linux") return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.on("error", () => resolve(undefined));
    server.listen(`\0${name}`, () => resolve(server.unref()));
  });
}
