// The records that the page draws: objects of the cluster, how they fare, and how they are laid out. The page knows no feature by name.

/** One of the stages that a credential passes through: the name of its controller, such as `rotation`. */
export type StageName = string;

/** The name of one record: stable for as long as its object exists, and unique among all records. */
export type RecordId = string;

/** An object of the cluster. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  /** `plural.group`, or `plural` alone for the core group: what `kubectl get` takes, and what rights are checked for. */
  readonly resource: string;
  /** Empty for kinds that are in no namespace. */
  readonly namespace: string;
  readonly name: string;
}

/**
 * How something fares. `healthy`: as it should be. `progressing`: on its way there by itself. `paused`: left alone because somebody asked for it, or held
 * back by a rule such as a maintenance window. `degraded`: it works, and somebody should look. `failed`: it does not work, and somebody should look.
 * `unknown`: nothing certain can be said about now, see `doubtsAbout`.
 */
export type Health = "healthy" | "progressing" | "paused" | "degraded" | "failed" | "unknown";

/** A condition of an object, as its status has it. */
export interface ConditionView {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Since when it says so. */
  readonly sinceMs?: number;
}

/** What happens next if nothing changes but the time. */
export interface NextStep {
  readonly atMs: number;
  /** Completes "the object …", such as `gets version 4`. */
  readonly what: string;
}

/** What is said about one object, by `keyturn status` and the page alike. Times are milliseconds since 1970 by the server's clock, see `Hello`. Absent fields are not known, or there is none. */
export interface ObjectReport {
  readonly ref: ObjectRef;
  /** What people call it, where that is not its object's kind and name. */
  readonly called?: { readonly kind: string; readonly name: string };
  readonly health: Health;
  /** Why, as one word of the controller's own wherever it has reported one. Empty if there is nothing to say. */
  readonly reason: string;
  /** The same as a sentence. */
  readonly message: string;
  /** Since when it fares so. */
  readonly sinceMs?: number;
  /** What is particular about it, short enough for a cell of a table. */
  readonly detail: string;
  readonly next?: NextStep;
  /** The names under which people may look for it: its own, and those of the Secrets and sets that it is about. All in its namespace. */
  readonly about: readonly string[];
  /** The namespaces that it is about, if they are not its own alone. */
  readonly covers?: readonly string[];
  readonly conditions: readonly ConditionView[];
}

// One thing to know about an object or a bar.

export type Fact =
  | { readonly name: string; readonly text: string; readonly mono?: boolean; readonly ref?: ObjectRef }
  | { readonly name: string; readonly atMs: number }
  | { readonly name: string; readonly spanMs: number };

// An object, and what is drawn of it.

/** One of several objects that a record is about. */
export interface ObjectLane extends ObjectReport {
  /** The object that is kept for it; its page is this one's. */
  readonly object?: ObjectRef;
  /** What its page says besides its conditions. */
  readonly facts: readonly Fact[];
}

/** One object of a stage, or several that belong together. */
export interface ObjectRecord extends ObjectReport {
  readonly type: "object";
  readonly id: RecordId;
  readonly step: StageName;
  /** The table that it stands in, see `TableLayout`. */
  readonly table: string;
  /** The object whose page this record leads to, and whose kind's rights decide who gets the record. */
  readonly ref: ObjectRef;
  /** What the whole is called, if not by its object's name. */
  readonly title?: string;
  readonly createdMs?: number;
  /** Of a record about several objects: each of them. The record then fares as the worst. */
  readonly lanes?: readonly ObjectLane[];
  /** Another object whose page is this one, such as the source of a rotation set. */
  readonly source?: ObjectRef;
  /** What its page says besides its conditions. */
  readonly facts: readonly Fact[];
  /** By the ids of its table's columns. */
  readonly cells: Readonly<Record<string, Cell>>;
  /** What people may search for besides names, reasons and messages. */
  readonly texts: readonly string[];
  /** The facet of its table that it belongs to. */
  readonly facet?: string;
  /** In a table that is a timeline. */
  readonly tracks?: readonly Track[];
  /** What is live differs from what it says: spelled out above its table, those that should look first first. */
  readonly differing?: { readonly order: number; readonly givenUpMs?: number };
}

/** What stands in a cell: a text or a point in time, and a smaller line below it. */
export interface Cell {
  readonly main: string | Moment;
  readonly sub?: string | Moment;
  /** `link`: leads to the object. `health`: with the mark of the record's health. `faint`: there is nothing to say. */
  readonly look?: "link" | "health" | "mono" | "faint";
  readonly subLook?: "mono";
  /** Said before it on narrow screens, where the headings of columns are not seen. */
  readonly onPhone?: string;
}

interface Moment {
  readonly atMs: number;
}

/** How a stage is called and laid out. */
export interface StageLayout {
  readonly step: StageName;
  /** What the stage does, as a verb. */
  readonly verb: string;
  /** The heading of its view. */
  readonly title: string;
  /** What its view says below the heading. */
  readonly about: string;
  /** What its records are about. */
  readonly one: string;
  readonly many: string;
  /** Its records are about every credential of their namespace. */
  readonly perNamespace?: true;
  /** The first one's records are counted as the stage's. */
  readonly tables: readonly TableLayout[];
}

/** How records are laid out: as rows, or as lanes over time. */
export interface TableLayout {
  readonly id: string;
  readonly title: string;
  /** What is said if there are none; of the stage, if it is its first table. */
  readonly empty: { readonly title: string; readonly text: string; readonly command: string };
  readonly columns?: readonly ColumnLayout[];
  readonly facets?: readonly Facet[];
  readonly timeline?: { readonly legend: readonly LegendEntry[]; readonly note?: string };
}

export interface ColumnLayout {
  readonly id: string;
  readonly title: string;
  /** A track of a CSS grid. */
  readonly width: string;
  /** Where it goes on narrow screens: beside the title (absent), in a line of its own, or nowhere. */
  readonly phone?: "line" | "hidden";
}

/** What records are counted by, such as how far a rollout is. */
export interface Facet {
  readonly id: string;
  readonly title: string;
  readonly hint: string;
  readonly health: Health;
}

/** One look of a timeline and what it means; `look` is made of the classes that draw it. */
interface LegendEntry {
  readonly look: string;
  readonly meaning: string;
}

// What a timeline draws, whatever it is about: groups of lanes, with bars, bands and marks in them. Nothing here depends on the time.

/** A stretch of time in which something holds. */
export interface Bar {
  /** Unique among all bars of a timeline; goes into links. */
  readonly id: string;
  readonly fromMs: number;
  /** Absent: no end is known. */
  readonly toMs?: number;
  readonly look: "past" | "live" | "planned" | "retiring" | "removed";
  /** Below `hueCount`: bars of one hue are about one thing. */
  readonly hue: number;
  /** Not a state of its own, only filled in. */
  readonly filled?: true;
  readonly label: string;
  readonly title: string;
  readonly facts: readonly Fact[];
}

/** How many hues there are. */
export const hueCount = 6;

/** A stretch that is marked for what is missing in it. */
export interface Band {
  readonly kind: "freeze" | "gap";
  readonly fromMs: number;
  readonly toMs?: number;
}

/** A point in time worth knowing. */
export interface Mark {
  readonly kind: "expiry" | "end";
  readonly atMs: number;
  readonly health: Health;
}

/** The heading of the lanes that follow. How it fares is the record's health, which the page may have to doubt. */
export interface GroupTrack {
  readonly type: "group";
  readonly id: string;
  readonly ref: ObjectRef;
  readonly title: string;
  readonly note: string;
  /** Said beside the note, because somebody should notice. */
  readonly warning?: string;
}

export interface LaneTrack {
  readonly type: "lane";
  readonly id: string;
  readonly title: string;
  readonly ref?: ObjectRef;
  readonly note: string;
  readonly bars: readonly Bar[];
  readonly bands: readonly Band[];
  readonly marks: readonly Mark[];
}

export type Track = GroupTrack | LaneTrack;

// How one of the controllers fares.

/** What keeps a watch from showing what there is. */
export interface WatchTrouble {
  /** `plural.group`. */
  readonly resource: string;
  /** Absent if the whole cluster was meant. */
  readonly namespace?: string;
  /** `missing`: the kind is not installed. `forbidden`: a right is missing. `retrying`: the API server does not answer. `syncing`: the first list is on its way. */
  readonly state: "missing" | "forbidden" | "retrying" | "syncing";
  /** The missing right, or what failed. */
  readonly message: string;
}

/** One of the stages. There is always one of these for each; counts are made by the page from the other records. */
export interface StageRecord {
  readonly type: "step";
  /** `step/<name>`. */
  readonly id: string;
  readonly step: StageName;
  /** One sentence that says what the step does. */
  readonly summary: string;
  /** `on`: its objects are shown. `off`: it is not switched on in this operator. `absent`: none of its kinds is installed, and nobody misses them. `limited`: some of its kinds cannot be seen, see `troubles`. */
  readonly state: "on" | "off" | "absent" | "limited";
  /** The kinds whose objects are shown: `plural.group`. */
  readonly resources: readonly string[];
  /** Those of them that this viewer may not see; their records are left out. */
  readonly hidden: readonly string[];
  /** The only namespaces of which this viewer sees objects, of some kind at least; absent if they may see all there are. */
  readonly shownIn?: readonly string[];
  readonly troubles: readonly WatchTrouble[];
  /** Whether an operator works on it; absent until that has been found out. */
  readonly leader?: StageLeader;
  /** When the API server was last heard before it was too long ago to say what is now; absent while it is heard. */
  readonly asOfMs?: number;
}

/** Whether an operator works on a step: `none` does, or it is `unknown` whether one does; then `message` says why. */
export interface StageLeader {
  readonly state: "led" | "none" | "unknown";
  readonly message: string;
  /** With `none`, the resources of whose objects that is so; others of the step are worked on. Absent: all. */
  readonly only?: readonly string[];
}
