// Where a look into the process is written to, as a flag of `keyturn run`.
import { textFlag } from "../flags/flag.ts";

export const diagnosticsFlags = {
  diagnosticsDir: textFlag({
    name: "diagnostics-dir",
    placeholder: "FOLDER",
    help: "on SIGUSR2, write a CPU profile of 10 s and a heap snapshot into this folder; a heap snapshot has secrets in it; otherwise nothing is written",
  }),
};
