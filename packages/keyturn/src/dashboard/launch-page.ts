// Opens the page in the person's browser without showing its secret to others on the machine: arguments of processes can be read by everybody.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A file that leads to the page, readable by this user alone. Goes when it is disposed of. */
interface LaunchPage extends AsyncDisposable {
  readonly path: string;
}

/** Makes the file. */
export async function makeLaunchPage(url: string): Promise<LaunchPage> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-dashboard-"));
  const path = join(folder, "open.html");
  const target = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${target}"><title>Keyturn</title><a href="${target}">the dashboard</a>\n`;
  await writeFile(path, page, { mode: 0o600, flag: "wx" });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** What opens pages on a system. */
interface Opener {
  readonly command: string;
  readonly args: readonly string[];
}

const openers: Readonly<Record<string, Opener>> = {
  darwin: { command: "open", args: [] },
  win32: { command: "cmd", args: ["/c", "start", ""] },
};

/** Opens the file with what the system opens pages with. Resolves to false if there is nothing of that kind. */
export async function openInBrowser(
  { path }: LaunchPage,
  { command, args }: Opener = openers[process.platform] ?? { command: "xdg-open", args: [] },
): Promise<boolean> {
  const child = spawn(command, [...args, pathToFileURL(path).href], { stdio: "ignore", detached: true });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("error", () => resolve(false));
  child.once("spawn", () => resolve(true));
  child.unref();
  return promise;
}
