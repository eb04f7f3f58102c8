// Access tokens of the stand-in: RS256 JWTs as IAS issues them, and the key set to verify them with.
import { createPublicKey, generateKeyPair, type KeyObject, randomUUID, sign } from "node:crypto";
import { promisify } from "node:util";

/** What is said in a token. */
export interface TokenClaims {
  readonly issuer: string;
  readonly clientId: string;
  readonly nowMs: number;
  readonly lifetimeSeconds: number;
}

const newKeyPair = promisify(generateKeyPair);

/** Signs with one key, made when first needed: most stand-ins never issue a token. */
export class TokenSigner {
  readonly #keyId = randomUUID();
  #key: Promise<KeyObject> | undefined;

  /** A signed token. */
  async sign({ issuer, clientId, nowMs, lifetimeSeconds }: TokenClaims): Promise<string> {
    const issuedAt = Math.floor(nowMs / 1000);
    const header = { alg: "RS256", typ: "JWT", kid: this.#keyId };
    const claims = { iss: issuer, sub: clientId, aud: clientId, jti: randomUUID(), iat: issuedAt, exp: issuedAt + lifetimeSeconds };
    const input = `${encode(header)}.${encode(claims)}`;
    return `${input}.${sign("sha256", Buffer.from(input), await this.#privateKey()).toString("base64url")}`;
  }

  /** The public key as a JWK set. */
  async keySet(): Promise<unknown> {
    const jwk = createPublicKey(await this.#privateKey()).export({ format: "jwk" });
    return { keys: [{ ...jwk, kid: this.#keyId, use: "sig", alg: "RS256" }] };
  }

  #privateKey(): Promise<KeyObject> {
    this.#key ??= newKeyPair("rsa", { modulusLength: 2048 }).then(({ privateKey }) => privateKey);
    return this.#key;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
