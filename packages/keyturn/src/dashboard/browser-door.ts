// Opens the page in the person's browser without showing its secret to others on the machine: arguments of processes can be read by everybody.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A file that leads to the page, readable by this user alone. Goes when it is disposed of. */
export interface BrowserDoor extends AsyncDisposable {
  readonly path: string;
}

/** Makes the file. */
export async function makeBrowserDoor(url: string): Promise<BrowserDoor> {
  const folder = await mkdtemp(join(tmpdir(), "keyturn-dashboard-"));
  const path = join(folder, "open.html");
  const target = url.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${target}"><title>Keyturn</title><a href="${target}">the dashboard</a>\n`;
  await writeFile(path, page, { mode: 0o600, flag: "wx" });
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

const openers: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** Opens a file with what the system opens pages with. Resolves to false if there is nothing of that kind. */
export async function openInBrowser({ path }: BrowserDoor, platform: string = process.platform): Promise<boolean> {
  const [command, ...args] = openers[platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, pathToFileURL(path).href], { stdio: "ignore", detached: true });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("error", () => resolve(false));
  child.once("spawn", () => resolve(true));
  child.unref();
  return promise;
}
