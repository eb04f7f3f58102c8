// Answers over HTTP, in the form that the API server reads.
import type { ServerResponse } from "node:http";

/** An AdmissionReview with this response. */
export function reviewOf(response: object): string {
  return JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });
}

/** Sends a whole answer. */
export function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
