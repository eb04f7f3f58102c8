// Reads a Dockerfile, as far as ours goes: the instructions, and what the image of its last stage consists of.
import type { ImageSettings } from "@keyturn/runtime/testing";

/** One instruction, with continuation lines joined. */
export interface Instruction {
  readonly name: string;
  /** `--from=build` and the like. */
  readonly flags: readonly string[];
  readonly rest: string;
}

/** Reads a Dockerfile: comments and empty lines go. */
export function parseDockerfile(text: string): readonly Instruction[] {
  const lines = text.split("\n").filter((line) => !/^\s*(#|$)/.test(line));
  const joined = lines.join("\n").replaceAll(/\\\n\s*/g, "");
  return joined.split("\n").map((line) => {
    const [name = "", ...words] = line.trim().split(/\s+/);
    const flags = words.filter((word, index) => word.startsWith("--") && words.slice(0, index).every((earlier) => earlier.startsWith("--")));
    return { name: name.toUpperCase(), flags, rest: words.slice(flags.length).join(" ") };
  });
}

/** The instructions from the last FROM on: what the image consists of. */
export function lastStage(instructions: readonly Instruction[]): readonly Instruction[] {
  return instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"));
}

/** The words of an instruction in exec form; undefined for the shell form. */
export function execForm(rest: string): readonly string[] | undefined {
  return /^\[\s*"[^]*"\s*\]$/.test(rest) ? (JSON.parse(rest) as readonly string[]) : undefined;
}

/** A file that the last stage copies, and where to. */
interface CopiedFile {
  readonly source: string;
  /** Within the image, without the slash before it. */
  readonly name: string;
}

/** The files that the last stage takes out of the build. */
export function copiedFiles(stage: readonly Instruction[]): readonly CopiedFile[] {
  return stage
    .filter(({ name }) => name === "COPY")
    .flatMap(({ rest }) => {
      const words = rest.split(" ");
      const folder = words.at(-1) ?? "";
      return words.slice(0, -1).map((source) => ({ source, name: `${folder}${source.split("/").at(-1)}`.slice(1) }));
    });
}

/** How the image starts, in an image's own words. `values` are those of the arguments; a label whose argument has none is left out. */
export function settingsOf(stage: readonly Instruction[], values: Readonly<Record<string, string>>): ImageSettings {
  const last = (wanted: string): string => stage.findLast(({ name }) => name === wanted)?.rest ?? "";
  const labels = Array.from(
    stage
      .filter(({ name }) => name === "LABEL")
      .map(({ rest }) => rest)
      .join(" ")
      .matchAll(/(\S+?)="([^"]*)"/g),
    ([, name = "", value = ""]) => [name, value.replaceAll(/\$\{(\w+)\}/g, (_, argument: string) => values[argument] ?? "")] as const,
  );
  return {
    User: last("USER"),
    Env: stage.filter(({ name }) => name === "ENV").map(({ rest }) => rest),
    Entrypoint: execForm(last("ENTRYPOINT")) ?? [],
    Cmd: execForm(last("CMD")) ?? [],
    Labels: Object.fromEntries(labels.filter(([, value]) => value !== "")),
  };
}
