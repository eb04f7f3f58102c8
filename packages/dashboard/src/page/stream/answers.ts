// From the body of an answer to a shape of the contract. The server is the one that this page was loaded from, so shapes are trusted.
import type { ObjectDetail, Refusal, Session } from "../../contract/index.ts";

export async function sessionOf(response: Response): Promise<Session> {
  return (await response.json()) as Session;
}

export async function objectDetailOf(response: Response): Promise<ObjectDetail> {
  return (await response.json()) as ObjectDetail;
}

/** Why something was refused: the server's own words, or the status if it has none, as from a proxy in between. */
export async function refusalOf(response: Response): Promise<string> {
  const refusal = (await response.json().catch(() => ({}))) as Partial<Refusal>;
  return refusal.error ?? `the server answered ${response.status}`;
}
