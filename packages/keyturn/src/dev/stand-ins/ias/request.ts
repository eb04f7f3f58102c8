// A request and the tenant that it is made to, as the handlers see them.
import type { ApplicationDirectory } from "./application-directory.ts";
import type { IasRoute } from "./step.ts";
import type { TokenSigner } from "./token-signer.ts";

/** A request as the handlers see it. */
export interface IasRequest extends IasRoute {
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** What the handlers work with. */
export interface IasTenant {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly directory: ApplicationDirectory;
  readonly signer: TokenSigner;
  readonly nowMs: number;
  /** When an application's client ID can be seen. */
  readonly clientIdFrom: "first-secret" | "creation";
  /** How long after its creation an application is shown to anybody. */
  readonly shownAfterMs: number;
}
