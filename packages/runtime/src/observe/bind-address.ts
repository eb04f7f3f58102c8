// Where a server listens, in the words of a flag: `:8080`, `127.0.0.1:0`, `[::1]:8081`, or `0` for nowhere.

/** Where to listen. Without a host: on all addresses. */
export type BindAddress = { readonly type: "off" } | { readonly type: "listen"; readonly host?: string; readonly port: number };

/** Reads a bind address; throws with what is allowed if it is none. */
export function parseBindAddress(text: string): BindAddress {
  if (text === "0" || text === "") return { type: "off" };
  const { v6, host = v6, port } = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) {
    throw new Error(`cannot read the bind address ${JSON.stringify(text)}: use :8080, 127.0.0.1:8080, [::1]:8080, or 0 for none`);
  }
  return { type: "listen", port: Number(port), ...(host ? { host } : {}) };
}
