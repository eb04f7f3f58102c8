// The ways in which a control plane can fail its callers.

/** What to do instead of answering properly. */
export type Misbehaviour =
  /** `allowed: false`, with a message or without any status. */
  | { readonly type: "refuse"; readonly message?: string }
  | { readonly type: "status"; readonly code: number }
  /** Takes the question and never answers. */
  | { readonly type: "silence" }
  /** Begins an answer and never ends it. */
  | { readonly type: "halfAnswer" }
  /** Closes the connection instead of answering. */
  | { readonly type: "hangUp" }
  | { readonly type: "text"; readonly text: string }
  /** An answer of this many bytes. */
  | { readonly type: "huge"; readonly bytes: number }
  /** A proper answer with these fields of its response changed. */
  | { readonly type: "alter"; readonly response: Readonly<Record<string, unknown>> };
