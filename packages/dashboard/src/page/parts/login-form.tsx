// Asks for what lets the page in, and says why.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Session, sessionPath } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { sessionOf } from "../event-stream.ts";
import type { LoginReason } from "../live-picture.ts";
import { HealthMark } from "./health-mark.tsx";

const reasons: Readonly<Record<LoginReason, string | undefined>> = {
  needed: undefined,
  wrong: "The cluster does not accept this token.",
  refused: "This token may not see anything that is shown here. It takes the rights to list and watch one of the kinds.",
  ended: "The token is no longer accepted, so the session has ended.",
};

export function LoginForm({ why, message }: { readonly why: LoginReason; readonly message: string | undefined }): JSX.Element {
  const { live } = usePage();
  const session = useSession();
  const [token, setToken] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), [session?.access, why]);
  if (session === undefined) return <p class="loading">Loading…</p>;
  if (session.access === "secret")
    return (
      <section class="panel login" aria-labelledby="login">
        <h1 id="login">This page needs its secret</h1>
        <p class="soft">Open the address that the command printed, with the part after #secret=. It is good for as long as the command runs.</p>
      </section>
    );
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== "") live.retry(token.trim());
  };
  return (
    <form class="panel login" onSubmit={submit} aria-labelledby="login">
      <h1 id="login">Sign in</h1>
      {reasons[why] === undefined ? null : (
        <p class="notice tone-failed" role="alert">
          <HealthMark health="failed" quiet />
          <span>
            {reasons[why]} {message}
          </span>
        </p>
      )}
      <p class="soft">With a bearer token of this cluster. It stays in this tab, and you see what its rights allow.</p>
      <label>
        Token
        <textarea ref={field} value={token} onInput={(event) => setToken(event.currentTarget.value)} autocomplete="off" spellcheck={false} required />
      </label>
      <div>
        <button type="submit" class="button primary">
          Sign in
        </button>
      </div>
      <div class="command">
        <p>For example that of a ServiceAccount:</p>
        <pre>kubectl create token NAME -n NAMESPACE</pre>
      </div>
    </form>
  );
}

function useSession(): Session | undefined {
  const { live } = usePage();
  const [session, setSession] = useState<Session | undefined>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    live
      .get(sessionPath, stop.signal)
      .then(async (response) => setSession(await sessionOf(response)))
      // Without an answer, asking for a token is the safe guess.
      .catch(() => setSession({ access: "token", version: "", bootId: "" }));
    return () => stop.abort();
  }, [live]);
  return session;
}
