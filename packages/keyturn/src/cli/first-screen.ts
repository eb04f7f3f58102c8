// The first screen of `keyturn dev`: where the page is, what each stage of the chain does now, what has just happened, what to try, how to stop. Pure.
import { needsAttention } from "@keyturn/dashboard/contract";
import type { Feature } from "../feature/feature.ts";
import { calledBy } from "../feature/record.ts";
import { type CredentialStatus, type StageStatus, upcomingOf } from "../status/credentials.ts";
import { type Paint, renderAge, type Tone } from "../text.ts";

/** Something that happened. */
export interface Happening {
  readonly atMs: number;
  readonly text: string;
}

/** What the screen shows. */
export interface FirstScreen {
  /** Of the page, with its secret. Stands in a line of its own, so that terminals make a link of all of it. */
  readonly address: string;
  readonly isOpen: boolean;
  readonly status: CredentialStatus;
  /** The oldest first. */
  readonly happenings: readonly Happening[];
  /** Commands to type elsewhere. */
  readonly commands: readonly string[];
  readonly features: readonly Pick<Feature, "name" | "stage">[];
}

/** The headings, empty lines and the like, besides stages, happenings and commands. */
const fixedLines = 8;

/** The screen for a terminal of so many lines; the fewer there are, the fewer happenings are shown. */
export function firstScreenText({ address, isOpen, status, happenings, commands, features }: FirstScreen, rows: number, paint: Paint): string {
  const stages = status.steps.map((stage) => stageLine(stage, status.atMs, { features, paint }));
  const room = Math.max(1, rows - 1 - fixedLines - stages.length - commands.length);
  const latest = happenings.slice(-room).map(({ atMs, text }) => `  ${renderAge(atMs, status.atMs).padStart(4)} ago  ${text}`);
  return [
    paint("strong", address),
    paint("faint", isOpen ? "is open in your browser; Ctrl-C here stops everything" : "open this page in a browser; Ctrl-C here stops everything"),
    "",
    paint("strong", "THE LIFE OF A CREDENTIAL"),
    ...stages,
    "",
    paint("strong", "WHAT HAPPENED"),
    ...(latest.length > 0 ? latest : ["  nothing yet"]),
    "",
    paint("strong", "TRY, in another terminal"),
    ...commands.map((command) => `  ${command}`),
  ].join("\n");
}

interface StageOptions {
  readonly features: FirstScreen["features"];
  readonly paint: Paint;
}

function stageLine(stage: StageStatus, nowMs: number, { features, paint }: StageOptions): string {
  const { tone, mark, text } = stageNow(stage, nowMs, features);
  return `  ${stage.step.padEnd(9)} ${paint(tone, mark)} ${text}`;
}

interface StageNow {
  readonly tone: Tone;
  readonly mark: string;
  readonly text: string;
}

/** What a stage does at the moment: what is wrong first, then what it is about to do, then how much is as it should be. */
function stageNow(stage: StageStatus, nowMs: number, features: FirstScreen["features"]): StageNow {
  const { objects, unread, doubts, feature } = stage;
  const failing = unread.find(({ reason }) => reason !== "missing");
  if (failing) return { tone: "doubtful", mark: "?", text: `${failing.resource} cannot be read: ${failing.message}` };
  const [doubt] = doubts;
  if (doubt) return { tone: "doubtful", mark: "?", text: doubt.message };
  const { noun, objectNoun = noun } = features.find(({ name }) => name === feature)?.stage ?? {};
  const [one = "object", many = "objects"] = objectNoun ?? [];
  const wrong = objects.find(needsAttention);
  if (wrong) return { tone: "bad", mark: "!", text: `${calledBy(wrong).name}: ${wrong.message}` };
  if (objects.length === 0) return { tone: "good", mark: "✓", text: one === "workload" ? "no workload is being restarted" : `no ${many} yet` };
  const moving = objects.find(({ health }) => health !== "healthy");
  const [next] = upcomingOf({ steps: [stage] });
  // A deadline says less about now than what is under way.
  const isDeadline = next?.next.what.startsWith("counts as") ?? false;
  if (next && !isDeadline) {
    const when = next.next.atMs <= nowMs ? "now" : `in ${renderAge(nowMs, next.next.atMs)}`;
    return { tone: "busy", mark: "→", text: `${calledBy(next.report).name} ${next.next.what} ${when}` };
  }
  if (moving) return { tone: "busy", mark: "→", text: `${calledBy(moving).name}: ${moving.message}` };
  return { tone: "good", mark: "✓", text: objects.length === 1 ? `1 ${one}, as it should be` : `${objects.length} ${many}, all as they should be` };
}

// What happened, in the words of somebody who has never seen it.

/** What is known of an Event of the operator. */
interface ReportedEvent {
  readonly reason: string;
  readonly namespace: string;
  readonly name: string;
  readonly note: string;
}

/** By reason: the object's name comes first. */
const sentences: Readonly<Record<string, string>> = {
  ApplicationCreated: "got an application at the identity provider",
  SecretIssued: "got its first credentials, in its own cluster",
  SecretRotated: "got new credentials, in its own cluster",
  SecretRepaired: "had lost its credentials and got new ones",
  VersionFilled: "got its first version of the key",
  KeyAdded: "publishes a new public key",
  KeyRetired: "goes on publishing the previous key, for tokens that it signed",
  KeyRemoved: "no longer publishes the oldest key: its time was over",
  SidecarRestart: "is restarted, because its sidecar is outdated",
  SidecarRolloutFinished: "has been restarted, and is healthy with the new sidecar",
  CredentialRestart: "is restarted, because a Secret that it uses has changed",
  CredentialRolloutFinished: "has been restarted, and uses the new Secret",
};

/** One line for somebody who has just begun; undefined for what is of no interest then. What is wrong is told with its stage, for as long as it is. */
export function happeningText({ reason, namespace, name, note }: ReportedEvent): string | undefined {
  if (reason === "ChecksumPublished") return `the certificates of ${namespace} are published as one set; gateways may adopt it`;
  const sentence = sentences[reason];
  // Runtimes are named by UUIDs, of which the beginning is enough here.
  const called = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/.test(name) ? `runtime ${name.slice(0, 8)}` : name;
  if (sentence !== undefined) return `${called} ${sentence}`;
  const [, version] = reason === "VersionRotated" ? (/^version (\d+) /.exec(note) ?? []) : [];
  return version === undefined ? undefined : `${called} moved on to version ${version} of the key`;
}
