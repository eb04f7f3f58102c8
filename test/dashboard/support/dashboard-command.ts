// `keyturn dashboard` in this process: the page as somebody serves it to themselves, with their own kubeconfig.
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import { startTyped, type TypedCommand } from "../../support/typed-command.ts";

/** The command at work, until it is disposed of. */
interface DashboardCommand extends AsyncDisposable, Pick<TypedCommand, "output"> {
  readonly url: string;
  readonly secret: string;
}

/** Starts it, and resolves when it has printed its address. */
export async function startDashboardCommand(kubeconfig: string, ...args: readonly string[]): Promise<DashboardCommand> {
  const command = startTyped(["dashboard", "--no-open", "--kubeconfig", kubeconfig, ...args]);
  const [, url = "", secret = ""] = await soon(() => {
    const found = /(http:\/\/127\.0\.0\.1:\d+\/)#secret=(\S+)/.exec(command.output.out);
    if (!found) throw new Error(`no address yet: ${command.output.out}${command.output.err}`);
    return found;
  });
  return {
    url,
    secret,
    output: command.output,
    async [Symbol.asyncDispose]() {
      command.interrupt();
      expect(await command.exit).toBe(0);
    },
  };
}
