// What is read from a server, told to whoever limits it.
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../clock.ts";

/**
 * Told of what is read from a server, before anything is made of it: of each piece of `data`, and once a second of what `TLS` says besides, of which nothing
 * else tells, the handshake included. If it throws, the connection is given up, and the exchange on it fails with what was thrown.
 */
export type OnRead = (bytes: number, of: "data" | "TLS") => void;

/** TLS's own messages cost time, and come without any data: they are looked for so often. */
const lookEveryMs = 1000;

/** Meters one socket. */
export class ReadMeter {
  readonly #onRead: OnRead;
  #data = 0;
  #silent = 0;

  constructor(onRead: OnRead) {
    this.#onRead = onRead;
  }

  /** A piece of data has come. Throws what it is told to. */
  took(bytes: number): void {
    this.#data += bytes;
    this.#onRead(bytes, "data");
  }

  /** Meters what TLS reads from `tcp`, until `socket`, which it makes of that, is closed. */
  watch(socket: Socket, tcp: Socket, clock: Clock): void {
    const look = (): void => {
      // The part of a record that has not come whole is no data yet.
      const silent = tcp.bytesRead - this.#data;
      const more = silent - this.#silent;
      timer = clock.setTimer(lookEveryMs, look);
      if (more <= 0) return;
      this.#silent = silent;
      try {
        this.#onRead(more, "TLS");
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    };
    let timer: Timer = clock.setTimer(lookEveryMs, look);
    socket.once("close", () => timer.cancel());
  }
}
