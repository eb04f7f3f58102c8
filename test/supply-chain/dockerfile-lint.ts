// What can be said about a Dockerfile without a container engine.
import { execForm, type Instruction, lastStage, parseDockerfile } from "../../tools/image/dockerfile.ts";

/** What a Dockerfile is checked against. */
interface ImageFacts {
  /** Whether a path is in the build's context. */
  readonly inContext: (path: string) => boolean;
  /** Whether the build makes this file. */
  readonly isBuilt: (path: string) => boolean;
}

/** What is wrong with a Dockerfile; empty if nothing is. */
export function dockerfileProblems(text: string, facts: ImageFacts): readonly string[] {
  const instructions = parseDockerfile(text);
  const image = lastStage(instructions);
  return [...unpinnedBases(instructions), ...unfitForEverybody(instructions), ...unfitImage(image), ...badCopies(instructions, facts)];
}

function unpinnedBases(instructions: readonly Instruction[]): readonly string[] {
  // Only what stands before the first FROM counts in a FROM.
  const ahead = instructions.slice(
    0,
    instructions.findIndex(({ name }) => name === "FROM"),
  );
  const defaults = new Map(ahead.filter(({ name }) => name === "ARG").map(({ rest }) => [rest.split("=")[0], rest.split("=")[1]]));
  return instructions
    .filter(({ name }) => name === "FROM")
    .flatMap(({ rest }) => {
      const [base = ""] = rest.split(" ");
      const digest = /@(?:(sha256:[0-9a-f]{64})|\$\{(\w+)\})$/.exec(base);
      if (!digest) return [`${base} is not pinned by digest`];
      const argument = digest[2];
      if (argument === undefined) return [];
      if (!defaults.has(argument)) return [`${base}: there is no ARG ${argument}`];
      return defaults.get(argument) === undefined ? [] : [`${base}: ARG ${argument} has a default, which ages`];
    });
}

function unfitForEverybody(instructions: readonly Instruction[]): readonly string[] {
  return instructions.flatMap(({ name, rest }) => {
    if (name === "ADD") return [`ADD ${rest}: use COPY`];
    if ((name === "ENV" || name === "ARG") && /(password|passwd|secret|token|credential|_key)\b/i.test(rest.split("=")[0] ?? "")) {
      return [`${name} ${rest.split("=")[0]} looks like a secret, and would stay in the image's history`];
    }
    return [];
  });
}

function unfitImage(image: readonly Instruction[]): readonly string[] {
  const last = (wanted: string): string | undefined => image.findLast(({ name }) => name === wanted)?.rest;
  const user = last("USER");
  const entrypoint = last("ENTRYPOINT");
  return [
    ...(/^[1-9]\d*:[1-9]\d*$/.test(user ?? "") ? [] : [`USER is ${user ?? "not set"}: not a number other than 0`]),
    ...(entrypoint && execForm(entrypoint) ? [] : [`ENTRYPOINT is ${entrypoint ?? "not set"}: not in exec form, and there is no shell`]),
    ...(last("HEALTHCHECK") === "NONE" ? [] : ["HEALTHCHECK is not NONE"]),
    ...(last("RUN") === undefined ? [] : ["RUN in the last stage, which has no shell"]),
    ...["title", "licenses", "version", "revision", "base.digest"]
      .filter((label) => !image.some(({ name, rest }) => name === "LABEL" && rest.includes(`org.opencontainers.image.${label}=`)))
      .map((label) => `there is no label org.opencontainers.image.${label}`),
  ];
}

function badCopies(instructions: readonly Instruction[], { inContext, isBuilt }: ImageFacts): readonly string[] {
  return instructions
    .filter(({ name }) => name === "COPY")
    .flatMap(({ flags, rest }) => {
      const sources = rest.split(" ").slice(0, -1);
      const fromStage = flags.some((flag) => flag.startsWith("--from="));
      return sources
        .filter((source) => (fromStage ? !isBuilt(source) && !inContext(source) : !inContext(source)))
        .map((source) => `COPY ${source}: there is no such file`);
    });
}
