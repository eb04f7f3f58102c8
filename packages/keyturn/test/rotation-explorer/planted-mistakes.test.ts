// Mistakes that were made, and others that could be, put back into the rules one at a time: the explorer must find each of them.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Decisions, explore } from "./explorer.ts";
import { worlds } from "./worlds.ts";

/** A small patch to the rules. */
interface Mistake {
  readonly what: string;
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
  /** Where it is found. */
  readonly world: string;
  /** By how many actions more than the world has by itself. Default none. */
  readonly more?: number;
}

const rules = "rules.ts";
const renumbered = "targets that are deleted, made again, joined and renumbered";
const flags = "an operator with other flags, whose writes are refused";
const lost = "records that are lost and edited";
const cutFill = "a first fill that is cut, and whose objects are edited";

const mistakes: readonly Mistake[] = [
  {
    what: "R1: a target that is made again finds the others moved",
    file: "shape.ts",
    right: "if (nowMs >= sinceMs + shape.longestMs)",
    wrong: "if (nowMs >= sinceMs)",
    world: renumbered,
  },
  {
    what: "R2: targets move as soon as their order is changed",
    file: rules,
    right: "(settlesAtMs(log) ?? 0) <= nowMs && ",
    wrong: "",
    world: renumbered,
  },
  {
    what: "R3: a record that is lost is not made again",
    file: "plan.ts",
    right: "const recovered = recoverableVersions(noted.commits, observation, isReturn ? recorded : []);",
    wrong: "const recovered: ReturnType<typeof recoverableVersions> = [];",
    world: lost,
  },
  { what: "R5: what is not watched is gone", file: "blockers.ts", right: "if (unwatched.length === 0)", wrong: "if (nowMs > 0)", world: flags },
  {
    what: "R6: who holds nothing waits for a maintenance window",
    file: rules,
    right: "if (!isUnfilled && (!mayMove(log, input)",
    wrong: "if ((!mayMove(log, input)",
    world: "a set that is new",
  },
  {
    what: "a version leaves the only target that has it",
    file: rules,
    right: "if (ranks.some(({ members }) => members.some(isElsewhere))) return nowMs;",
    wrong: "if (ranks.some(({ members }) => members.some(isElsewhere)) || nowMs > 0) return nowMs;",
    world: flags,
  },
  {
    what: "a claim is believed without its proof",
    file: "annotations.ts",
    right: "return (applied.isProven === true || isLogged === true) &&",
    wrong: "return (isLogged !== undefined) &&",
    world: "objects that are lost, edited, forged and taken",
  },
  {
    what: "an older log is taken for the state of things",
    file: "source.ts",
    right: "const isHeadLost = (log.commits.at(-1)?.seq ?? 0) > head.seq;",
    wrong: "const isHeadLost = false;",
    world: lost,
  },
  {
    what: "content that is nowhere is gone on without",
    file: "plan.ts",
    right: "const stopped = lost.length > 0 ?",
    wrong: "const stopped = lost.length > 1e9 ?",
    world: "records and objects that are lost",
  },
  {
    what: "the lowest rank is written first",
    file: "plan.ts",
    right: "for (const rank of ranks.toReversed()) {",
    wrong: "for (const rank of ranks) {",
    world: renumbered,
  },
  {
    what: "the delay of the first target counts from when the operator was started",
    file: rules,
    right: "dueMs: log.source.sinceMs + firstDelayMs(version.seq, ranks) }",
    wrong: "dueMs: log.source.sinceMs }",
    world: "a source that flaps, goes and comes back",
  },
  {
    what: "what the source was while nobody looked is taken for what it is",
    file: "source.ts",
    right: "isFirstLook === true && ",
    wrong: "isFirstLook !== isFirstLook && ",
    world: "a source that is another while nobody looks",
  },
  {
    what: "a second change of the set within one moment is not noted",
    file: "shape.ts",
    right: "return isKnown ? log :",
    wrong: "return sinceMs === shape.next?.sinceMs ? log :",
    world: "targets that are renumbered again and again",
    more: 1,
  },
  {
    what: "an object that says nothing is taken for none",
    file: "blockers.ts",
    right: "if (unknown.length === 0) return undefined;",
    wrong: "if (unknown.length < 9) return undefined;",
    world: cutFill,
  },
  {
    what: "R7: who waits for a publication takes what the rank before has",
    file: rules,
    right: "some(({ seq }) => seq === commit.seq) && publishedFromMs(member, commit) <= nowMs;",
    wrong: "some(({ seq }) => seq === commit.seq);",
    world: "targets that wait until keys are published",
  },
  {
    what: "R7: the first target takes what another already has",
    file: rules,
    right: "if (publishedFromMs(member, live) > nowMs) continue;",
    wrong: "",
    world: "a new set that waits until keys are published",
  },
  {
    what: "a log is believed whoever has written it",
    file: "blockers.ts",
    right: '(isProvenSet && (proof === "invalid" || (record === head && proof !== "valid")))',
    wrong: '(isProvenSet && record !== head && proof === "invalid")',
    world: "records that are made up and edited, and a key that is lost",
  },
  {
    what: "what the status says is forgotten with the log",
    file: "history.ts",
    right: "if (!reported || givenUp.includes(reportedSeq) ||",
    wrong: "if (!reported || reportedSeq > 0 ||",
    world: "versions that are lost and given up",
  },
];

const controllers = join(import.meta.dirname, "../../src/controllers/rotation");
let folder = "";

beforeAll(async () => {
  // Within the repository, so that packages are found from there.
  folder = await mkdtemp(join(import.meta.dirname, "../../../../node_modules/.planted-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** The functions that decide, with a mistake in them. */
async function planted({ file, right, wrong }: Mistake, index: number): Promise<Decisions> {
  const patch: Plugin = {
    name: "plant",
    setup(plugins) {
      plugins.onLoad({ filter: /controllers[\\/]rotation[\\/][a-z-]+\.ts$/ }, async ({ path }) => {
        const text = await readFile(path, "utf8");
        if (path !== join(controllers, file)) return { contents: text, loader: "ts" };
        expect(text.split(right), `${right} is in ${file} once`).toHaveLength(2);
        return { contents: text.replace(right, () => wrong), loader: "ts" };
      });
    },
  };
  const entry = join(import.meta.dirname, "decisions.ts");
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    write: false,
    plugins: [patch],
    logLevel: "silent",
  });
  const made = join(folder, `${index}.mjs`);
  await writeFile(made, outputFiles[0]?.contents ?? "");
  const decisions: Decisions = await import(/* @vite-ignore */ made);
  return decisions;
}

test.each(mistakes.map((mistake, index) => [mistake.what, mistake, index] as const))("%s", async (_, mistake, index) => {
  const world = worlds[mistake.world];
  if (!world) throw new Error(`there is no world ${mistake.world}`);
  const { wrong } = explore({ ...world, depth: world.depth + (mistake.more ?? 0), decisions: await planted(mistake, index) });
  expect(wrong?.at(-1)).toMatch(/WRONG: (E\d|publish-before|after|it does not|\w+ is refused)/);
});
