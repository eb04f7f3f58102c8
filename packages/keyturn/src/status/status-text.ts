// Credential status as a text for people, and when there is enough of it to print.
import { type Health, isDoubted, type ObjectReport, outdates } from "@keyturn/dashboard/contract";
import { type Clock, sleep, type WatchStatus } from "@keyturn/runtime";
import { placeOf } from "../feature/record.ts";
import { type Paint, renderAge, renderRows, type Tone } from "../text.ts";
import {
  concernsOf,
  countsOf,
  type CredentialStatus,
  leadershipOf,
  type Placed,
  placed,
  type StageStatus,
  type Unread,
  upcomingOf,
} from "./credentials.ts";

const tones: Readonly<Record<Health, Tone>> = {
  healthy: "good",
  progressing: "busy",
  paused: "faint",
  unknown: "doubtful",
  degraded: "bad",
  failed: "bad",
};

/** As many as one takes in at a glance. */
const maxConcerns = 20;
const maxUpcoming = 5;

/** The overview: each step, what needs somebody, what comes next, and what could not be read. */
export function overviewText(status: CredentialStatus, paint: Paint): string {
  return sections([stagesTable(status, paint), concernsText(status, paint), upcomingText(status, paint), notesOf(status)]);
}

/** The overview, with all of what needs attention or comes next, and every object besides. */
export function wideText(status: CredentialStatus, paint: Paint): string {
  const all = Number.POSITIVE_INFINITY;
  return sections([
    stagesTable(status, paint),
    objectsTable(status, paint),
    concernsText(status, paint, all),
    upcomingText(status, paint, all),
    notesOf(status),
  ]);
}

/** One credential: every object that is about it, step by step. */
export function credentialText(status: CredentialStatus, paint: Paint): string {
  return sections([objectsTable(status, paint), concernsText(status, paint), notesOf(status)]);
}

function objectsTable(status: CredentialStatus, paint: Paint): string {
  const rows = placed(status).map(({ step, report }) => [
    step,
    placeOf(report),
    paint(tones[report.health], report.health),
    report.reason,
    sinceText(report, status.atMs),
    report.detail,
    report.next ? `${nextText(report.next.atMs, status.atMs)} ${report.next.what}` : "-",
  ]);
  const header = ["STEP", "OBJECT", "HEALTH", "REASON", "SINCE", "DETAIL", "NEXT"].map((title) => paint("strong", title));
  return rows.length === 0 ? "" : renderRows([header, ...rows]);
}

/** An object's place and how it fares, in one line. */
export function healthText({ health, reason, message }: ObjectReport, paint: Paint): string {
  return `${paint(tones[health], health)}  ${reason}: ${message}`;
}

function sections(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

function stagesTable(status: CredentialStatus, paint: Paint): string {
  const header = ["STEP", "OBJECTS", "LED BY", "NEXT"].map((title) => paint("strong", title));
  return renderRows([
    header,
    ...status.steps.map((step): readonly string[] => {
      const [soonest] = upcomingOf({ steps: [step] });
      const next = soonest ? `${nextText(soonest.next.atMs, status.atMs)} ${placeOf(soonest.report)} ${soonest.next.what}` : "-";
      return [step.step, countsText(step, paint), leadersText(step, status, paint), next];
    }),
  ]);
}

function countsText({ objects, unread, doubts }: StageStatus, paint: Paint): string {
  // What is wrong with a step about which there is a doubt is probably no better.
  const tone = (health: Health): Tone => (doubts.length === 0 || health !== "healthy" ? tones[health] : "faint");
  const counts = countsOf({ objects }).map(({ health, count }) => paint(tone(health), `${count} ${health}`));
  const isOld = doubts.some(({ about }) => about === "leader" || about === "server") && !objects.every(isDoubted);
  const age = isOld ? paint("doubtful", " (as last reported)") : "";
  if (counts.length > 0) return `${counts.join(", ")}${age}`;
  return unread.length > 0 ? paint("faint", unread.every(({ reason }) => reason === "missing") ? "not installed" : "not readable") : "none";
}

/** Who leads a step, or who does not. */
export function leadersText(stage: StageStatus, status: Pick<CredentialStatus, "leasesUnread">, paint: Paint): string {
  const leadership = leadershipOf(stage, status);
  if (!leadership) return paint("faint", "not readable");
  if (stage.leases.length === 0) return paint("doubtful", "nobody");
  const texts = leadership.flatMap(({ controller, holders, hasLease, silent }) => {
    if (holders.length > 0) return holders;
    const why = silent === undefined ? (hasLease ? "" : ` (${controller} has no Lease)`) : ` (${silent} is silent)`;
    return [paint("doubtful", `nobody${why}`)];
  });
  return [...new Set(texts)].join(", ");
}

function concernsText(status: CredentialStatus, paint: Paint, most = maxConcerns): string {
  const doubts = status.steps.flatMap(({ step, objects, doubts: all }) =>
    all.flatMap((doubt) => {
      const { message, outdates: reason } = doubt;
      return reason !== undefined && objects.some(({ ref }) => outdates(doubt, ref)) ? [{ step, message, reason }] : [];
    }),
  );
  const concerns = concernsOf(status);
  const count = doubts.length + concerns.length;
  if (count === 0) return "";
  const lines = [
    ...doubts.flatMap(({ step, reason, message }) => [`  ${step}: ${paint(tones.unknown, reason)}`, `    ${message}`]),
    ...concerns.slice(0, most).flatMap((concern) => concernLines(concern, status.atMs, paint)),
  ];
  const rest = concerns.length > most ? [`  … and ${concerns.length - most} more; -o wide shows them all`] : [];
  return [paint("strong", `NEEDS ATTENTION (${count})`), ...lines, ...rest].join("\n");
}

function concernLines({ step, report }: Placed, nowMs: number, paint: Paint): readonly string[] {
  const since = report.sinceMs === undefined ? "" : `, for ${sinceText(report, nowMs)}`;
  return [`  ${step}: ${placeOf(report)} ${paint(tones[report.health], report.reason)}${since}`, `    ${report.message}`];
}

function upcomingText(status: CredentialStatus, paint: Paint, most = maxUpcoming): string {
  const upcoming = upcomingOf(status).filter(({ next }) => next.atMs >= status.atMs);
  if (upcoming.length === 0) return "";
  const lines = upcoming
    .slice(0, most)
    .map(({ step, report, next }) => `  ${nextText(next.atMs, status.atMs)}  ${step}: ${placeOf(report)} ${next.what}`);
  return [paint("strong", "NEXT"), ...lines].join("\n");
}

function notesOf({ steps, leasesUnread }: CredentialStatus): string {
  const unread = steps.flatMap((step) => step.unread.map((each) => `${step.step}: ${unreadText(each)}`));
  return [...unread, ...(leasesUnread ? [`led by: ${unreadText(leasesUnread)}`] : [])].join("\n");
}

/** What to say if nothing at all could be read. */
export function blindText({ steps, leasesUnread }: CredentialStatus): string {
  const [first, ...more] = [...steps.flatMap(({ unread }) => unread), ...(leasesUnread ? [leasesUnread] : [])].filter(
    ({ reason }) => reason !== "missing",
  );
  const why = first?.reason === "forbidden" ? `you lack the right to ${first.message}` : (first?.message ?? "the API server serves none of it");
  return `nothing could be read: ${why}${more.length > 0 ? ", and more" : ""}`;
}

/** One kind that could not be read, and why. */
export function unreadText({ resource, reason, message }: Unread): string {
  if (reason === "missing") return `${resource} is not served here; if this step is wanted, apply what \`keyturn crds\` prints`;
  if (reason === "forbidden") return `${resource} is not shown: you lack the right to ${message}`;
  return `${resource} cannot be read: ${message}`;
}

function sinceText({ sinceMs }: ObjectReport, nowMs: number): string {
  return sinceMs === undefined ? "-" : renderAge(sinceMs, nowMs);
}

function nextText(atMs: number, nowMs: number): string {
  return atMs <= nowMs ? "now:" : `in ${renderAge(nowMs, atMs)}:`;
}

// Waits until watches have shown what there is to see, or have said why they cannot.

/** How a watch stands; see `Caches.statusOf`. */
type Watched = Pick<WatchStatus, "state" | "synced">;

const lookEveryMs = 25;

/** Resolves when every watch is synced, refused or not served; one that fails is given `patienceMs` to recover. Rejects with the signal's reason when it aborts. */
export async function whenSettled(
  watches: readonly (() => Watched)[],
  { clock, patienceMs, signal }: { readonly clock: Clock; readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadlineMs = clock.now() + patienceMs;
  const isSettled = (): boolean =>
    watches.every((status) => {
      const { synced, state } = status();
      return synced || state.type === "missing" || state.type === "forbidden" || (state.type === "retrying" && clock.now() >= deadlineMs);
    });
  while (!isSettled()) await sleep(clock, lookEveryMs, signal);
}
