// Makes a moving picture (SVG) of a terminal recording in asciinema's format: `node tools/recording.ts RECORDING OUTPUT`.
// docs/images/first-screen.svg is `asciinema rec --cols 80 --rows 24 -c "make run" run.cast`, ended after two minutes by Ctrl-C.
import { readFile, writeFile } from "node:fs/promises";
import xterm from "@xterm/headless";
import * as z from "zod";

/** What was on the screen, from a time on. */
interface Frame {
  readonly atMs: number;
  readonly lines: readonly string[];
}

/** Nobody wants to wait longer for something to happen. */
const mostIdleMs = 2000;
/** Ages change every second; a picture every three is enough. */
const leastMs = 3000;

const headerSchema = z.object({ width: z.int(), height: z.int() });
const eventSchema = z.tuple([z.number(), z.string(), z.string()]);

/** Each picture that lasts, in its time; what was drawn within a moment is one. */
async function framesOf(recording: string): Promise<{ readonly columns: number; readonly rows: number; readonly frames: readonly Frame[] }> {
  const [first = "", ...events] = recording.trim().split("\n");
  const { width: columns, height: rows } = headerSchema.parse(JSON.parse(first));
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const frames: Frame[] = [];
  let [atMs, lastS] = [0, 0];
  for (const event of events) {
    const [timeS, type, text] = eventSchema.parse(JSON.parse(event));
    if (type !== "o") continue;
    atMs += Math.min((timeS - lastS) * 1000, mostIdleMs);
    lastS = timeS;
    await new Promise<void>((resolve) => terminal.write(text, resolve));
    if (atMs - (frames.at(-1)?.atMs ?? -leastMs) < leastMs) continue;
    const { active } = terminal.buffer;
    const lines = Array.from({ length: rows }, (_, row) => lineAsSvg(active.getLine(active.baseY + row), columns));
    if (lines.join("\n") !== frames.at(-1)?.lines.join("\n")) frames.push({ atMs, lines });
  }
  return { columns, rows, frames };
}

type Line = ReturnType<InstanceType<typeof xterm.Terminal>["buffer"]["active"]["getLine"]>;

/** A line as spans, one for each run of cells that look alike. */
function lineAsSvg(line: Line, columns: number): string {
  if (!line) return "";
  const runs: { look: string; text: string }[] = [];
  for (let column = 0; column < columns; column++) {
    const cell = line.getCell(column);
    const look = !cell ? "" : cell.isBold() ? "b" : cell.isDim() ? "d" : cell.isFgPalette() ? `c${cell.getFgColor()}` : "";
    const text = cell?.getChars() || " ";
    const last = runs.at(-1);
    if (last?.look === look) last.text += text;
    else runs.push({ look, text });
  }
  const spans = runs.map(({ look, text }) => (look === "" ? escaped(text) : `<tspan class="${look}">${escaped(text)}</tspan>`));
  return spans.join("").trimEnd();
}

/** The secret of the page was good while it was recorded, and is of no use to anybody else. */
function escaped(text: string): string {
  return text
    .replace(/#secret=[\w-]+/, "#secret=…")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

const cellWidth = 8.4;
const lineHeight = 18;
const margin = 14;

/** All frames in one picture; each is shown for as long as it was there. Whoever wants no movement sees the last. */
function pictureOf({ columns, rows, frames }: Awaited<ReturnType<typeof framesOf>>): string {
  const [first] = frames;
  if (!first) throw new Error("recording: nothing was drawn");
  const lastMs = 4000;
  const totalMs = (frames.at(-1)?.atMs ?? 0) - first.atMs + lastMs;
  const share = (ms: number): string => ((100 * ms) / totalMs).toFixed(3);
  const styles = frames.map(({ atMs }, index) => {
    const from = atMs - first.atMs;
    const to = (frames[index + 1]?.atMs ?? atMs + lastMs) - first.atMs;
    const before = index === 0 ? "" : `0%{visibility:hidden}`;
    const after = index === frames.length - 1 ? "" : `${share(to)}%{visibility:hidden}`;
    return `@keyframes k${index}{${before}${share(from)}%{visibility:visible}${after}}.f${index}{animation:k${index} ${Math.round(totalMs)}ms step-end infinite}`;
  });
  const groups = frames.map(({ lines }, index) => {
    const texts = lines.flatMap((line, row) =>
      line === "" ? [] : [`<text x="${margin}" y="${margin + (row + 1) * lineHeight - 5}">${line}</text>`],
    );
    return `<g class="f f${index}">${texts.join("")}</g>`;
  });
  const [width, height] = [Math.ceil(columns * cellWidth) + 2 * margin, rows * lineHeight + 2 * margin];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="make run in a terminal">`,
    `<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}.b{font-weight:bold;fill:#fff}.d{fill:#8a99ad}.c1{fill:#ff6b6b}.c2{fill:#5fd38d}.c3{fill:#f2c55c}.c6{fill:#63c5ea}.f{visibility:hidden}`,
    ...styles,
    `@media (prefers-reduced-motion:reduce){.f{animation:none}.f${frames.length - 1}{visibility:visible}}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#10161f"/>`,
    ...groups,
    "</svg>",
    "",
  ].join("\n");
}

const [recording, output] = process.argv.slice(2);
if (recording === undefined || output === undefined) throw new Error("usage: node tools/recording.ts RECORDING OUTPUT");
await writeFile(output, pictureOf(await framesOf(await readFile(recording, "utf8"))));
