#!/usr/bin/env node
// The command `keyturn-runtime`: writes TypeScript for the kinds of CRDs.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { typesOfCrds } from "./schema/crd-types.ts";

const usage = `Writes TypeScript for custom kinds: a type for each version of a CRD, and a value that names it.

  keyturn-runtime types FILE... > src/kinds.ts
  kubectl get crd certificates.cert-manager.io -o yaml | keyturn-runtime types - > src/certificate.ts
`;

/** Exits with 2 where the words make no sense, and with 1 where a file cannot be read. */
async function run([command, ...files]: readonly string[]): Promise<number> {
  if (command !== "types" || files.length === 0) {
    const isAsked = command === "help" || command === "--help" || command === "-h";
    (isAsked ? process.stdout : process.stderr).write(usage);
    return isAsked ? 0 : 2;
  }
  try {
    const texts = await Promise.all(files.map((file) => (file === "-" ? text(process.stdin) : readFile(file, "utf8"))));
    process.stdout.write(typesOfCrds(texts.join("\n---\n")));
    return 0;
  } catch (error) {
    process.stderr.write(`keyturn-runtime: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

process.exitCode = await run(process.argv.slice(2));
