// Who may look: what the server asks before it shows anything.
import type { Rights } from "./rights.ts";

/** Somebody who may look. */
export interface Viewer {
  /** As the API server knows them; undefined if nobody was asked. */
  readonly user: string | undefined;
  readonly rights: Rights;
}

/** Whether the one who sent this may look. */
export type AccessVerdict =
  | { readonly type: "allowed"; readonly viewer: Viewer }
  /** Nobody knows this token, or it is no longer good. */
  | { readonly type: "unknown" }
  /** The token is good, and its owner may see nothing of what is shown. */
  | { readonly type: "forbidden"; readonly message: string }
  /** It cannot be told now. */
  | { readonly type: "unavailable"; readonly message: string };

/** A way to find out. */
export interface AccessCheck {
  /** What the page is told to ask for. */
  readonly access: "secret" | "token";
  /** What is known without asking anybody; undefined if somebody would have to be asked. */
  known(bearer: string): AccessVerdict | undefined;
  /** Asks if need be. Never rejects. */
  check(bearer: string): Promise<AccessVerdict>;
  /** Whether the owner may list a kind that is not drawn, such as Events, in this namespace. Never rejects. */
  mayList(bearer: string, resource: { readonly group: string; readonly plural: string }, namespace: string): Promise<boolean>;
}
