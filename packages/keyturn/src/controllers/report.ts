// What people ask of a controller on the command line, and what they get. Reading only.
import type { Client } from "@keyturn/runtime";

/** A question: where to look, and when it was asked. */
export interface Query {
  readonly client: Client;
  /** The namespace that was asked for, or the kubeconfig's own, or `default`. */
  readonly namespace: string;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** An answer: the same facts as a text for a terminal and as data for `-o json|yaml`. Never the content of a Secret. */
export interface Report {
  /** Without a line break at the end. */
  readonly text: string;
  readonly data: unknown;
}
