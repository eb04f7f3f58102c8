// The stand-in's answers in IAS's forms.

/** What is sent back. */
export interface IasAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An answer with a JSON body. */
export function json(status: number, body: unknown, headers: IasAnswer["headers"] = {}): IasAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** An answer without a body. */
export function empty(status: number, headers: IasAnswer["headers"] = {}): IasAnswer {
  return { status, headers, body: "" };
}

/** An error as IAS words it. */
export function refusal(status: number, message: string, details: readonly { readonly target: string; readonly message: string }[] = []): IasAnswer {
  return json(status, { code: status, message, ...(details.length > 0 && { details }) });
}
