// What lets this page in: a token or secret, kept for this tab only.

const key = "keyturn.access";

/** Takes a secret out of the address, so that it is neither seen nor shared, and gives what is kept for this tab. */
export function takeAccessToken(): string | undefined {
  const secret = /^#secret=(.+)$/.exec(location.hash)?.[1];
  if (secret !== undefined) {
    keepAccessToken(decodeURIComponent(secret));
    history.replaceState(null, "", `${location.pathname}${location.search}`);
  }
  return sessionStorage.getItem(key) ?? undefined;
}

export function keepAccessToken(token: string): void {
  sessionStorage.setItem(key, token);
}

export function forgetAccessToken(): void {
  sessionStorage.removeItem(key);
}
