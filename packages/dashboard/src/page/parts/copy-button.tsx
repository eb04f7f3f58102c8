// Puts a text into the clipboard, and says so.
import type { JSX } from "preact";
import { useState } from "preact/hooks";

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [state, setState] = useState<"ready" | "copied" | "refused">("ready");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      // A page that is not served over TLS or from this machine has no clipboard.
      () => setState("refused"),
    );
  };
  return (
    <button type="button" class="button" onClick={copy} aria-label={`Copy: ${what}`}>
      <span aria-live="polite">{state === "ready" ? "Copy" : state === "copied" ? "Copied" : "Select it by hand"}</span>
    </button>
  );
}
