// A feature: one of the stages that a credential passes through, as the product's parts see it.
import type { Client, ControllerDefinition, CustomKind, Kind, MetricRow, Operator, Reason as RuntimeReason } from "@keyturn/runtime";
import type { Flag } from "./flag.ts";
import type { Records } from "./record.ts";

/** In `--controllers`, in the chart's values, before its flags. Never changes. */
export type FeatureName = string;

/** A controller of a feature, as its Lease names it. */
export interface StageController {
  readonly name: string;
  /** Those whose objects say how they fare in its words. */
  readonly resources: readonly string[];
}

/** What the command line, the manifests and the docs need to know about a feature. */
export interface Feature {
  readonly name: FeatureName;
  readonly stage: Stage;
  /** Whether the chart switches it on: true if it works in any cluster, false if it needs what not everybody has. */
  readonly onByDefault: boolean;
  /** The feature's own flags; each name starts with `<feature>.`. */
  readonly flags: readonly Flag[];
  /** Those of them that its rights depend on: the chart's rights are a template over their values. Default none. */
  readonly rightsFlags?: readonly RightsFlag[];
  /** Limits its controllers to these namespaces, besides `--namespaces`. Default: there is none. */
  readonly ownNamespaces?: Flag<readonly string[]>;
  /** The feature's own metrics by name, each name starting with `keyturn_`; controllers make them with `metricsOf(scope.metrics, table)`. */
  readonly metrics: Readonly<Record<string, MetricRow>>;
  /** The kinds it serves; their CRDs are printed by `keyturn crds`. */
  readonly kinds: readonly CustomKind[];
  /** Every reason that its conditions and Events give. */
  readonly reasons: ReasonTable;
  /** Those of its kinds that the cluster's roles `edit` and `admin` may not change: what is made for them is not their owners'. Default none. */
  readonly operatorsOwn?: readonly CustomKind[];
  /** That holds for all its kinds unless this flag has its default, because with another value one object counts for several namespaces. Default: it does not. */
  readonly operatorsOwnUnless?: Flag;
  /** The chart's alerts if the feature is on. */
  readonly alerts: readonly Alert[];
  /** Its row of the Grafana dashboard. */
  readonly panels: readonly Panel[];
  readonly predecessor?: Predecessor;
  /** What `keyturn doctor` checks if it is chosen, after what holds for every feature. Default nothing. */
  readonly checks?: readonly DoctorCheck[];
  /** What it answers on the command line, by command. */
  readonly queries?: { readonly [Command in QueryCommand]?: FeatureQuery };
  /** What people see of it: one record for `keyturn status` and the page alike. */
  readonly records: Records;
  /** The controllers that do the work, made from the values of `flags` as given on the command line; each says which rights it then needs. */
  controllers(flags: FlagReader): readonly ControllerDefinition[];
}

/** A feature's stage in the life of a credential, in words for people. */
interface Stage {
  /** What it does with a credential, such as `publish`. */
  readonly verb: string;
  /** What its controllers do, without a subject and a full stop, such as `publishes the public keys of certificates`. */
  readonly summary: string;
  /** What it does it for: the word for one of them and for several. */
  readonly noun: readonly [one: string, many: string];
  /** The same for the objects that report on it, where several are about one. Default: the noun. */
  readonly objectNoun?: readonly [one: string, many: string];
  /** What that is good for, in Markdown for the README. */
  readonly example: string;
  /** How to use it, as a path within the repository. */
  readonly guide: string;
}

/** How rights depend on a flag. The rights themselves are those of the controllers; the generator asks for them with stand-ins for values. */
export type RightsFlag =
  /** Its text is a namespace; each of its list is a namespace, or each is `plural.version.group`. */
  | { readonly flag: Flag; readonly as: "namespace" | "namespaces" | "resources" }
  /** There are more rights if it is this. */
  | { readonly flag: Flag; readonly is: string }
  /** There are rights for each of these words that its list has; an empty list has all of them. */
  | { readonly flag: Flag; readonly has: readonly string[] };

/** What a reason means: to its readers, to the runtime, and to those who want to be notified. */
interface Reason extends RuntimeReason {
  /** What happens to credentials in the ordinary course of things, which people may ask to be notified of. Warnings they get anyway. */
  readonly notable?: true;
}

/** The reasons of a feature. */
export type ReasonTable = Readonly<Record<string, Reason>>;

/** A rule of Prometheus, with what the chart's runbook and people are told. */
export interface Alert {
  readonly alert: string;
  /** Of the feature's metrics, and of the runtime's. */
  readonly expr: string;
  /** How long it must hold. Default: not at all. */
  readonly for?: string;
  readonly severity: "critical" | "warning" | "info";
  /** One sentence; may use Prometheus' `{{ $labels.… }}` and `{{ $value }}`, as the description may. */
  readonly summary: string;
  readonly description: string;
}

/** A panel of Grafana: its title, what its numbers are, and the expressions, each with the words that name its lines. */
export interface Panel {
  readonly title: string;
  readonly unit?: "s" | "bytes" | "percentunit" | "ops" | "dateTimeFromNow" | "short";
  readonly type?: "timeseries" | "stat" | "table";
  readonly lines: readonly (readonly [expression: string, legend: string])[];
}

/** What the feature takes the place of; `keyturn doctor` looks for it. */
interface Predecessor {
  readonly name: string;
  /** The last part of its image's name, wherever its release was copied to; absent if it is no operator that could run beside Keyturn. */
  readonly image?: string;
  /** How to move over, as a path within the repository. */
  readonly guide: string;
}

/** Reads the value of one of the feature's flags. */
export type FlagReader = <T>(flag: Flag<T>) => T;

// What people ask of a controller on the command line, and what they get. Reading only.

/** A question: where to look, and when it was asked. */
export interface Query {
  readonly client: Client;
  /** The namespace that was asked for, or the kubeconfig's own, or `default`. */
  readonly namespace: string;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** The commands with which features are asked. */
export type QueryCommand = "plan" | "history" | "diff";

/** A feature's part in such a command. */
export interface FeatureQuery {
  /** What the answer shows, as a part of the command's summary. */
  readonly summary: string;
  /** The flags that it depends on. Default none. */
  readonly flags?: readonly Flag[];
  /** A change of any object of these kinds may change the answer. */
  readonly follows: readonly Kind[];
  /** What it can be asked about, for completion; without a namespace, anywhere. Absent: it takes no name, and is asked for by the feature's. */
  readonly names?: (client: Client, place: { readonly namespace?: string }, signal: AbortSignal) => Promise<readonly string[]>;
  /** It answers also about one object of these kinds, which are words in lower case: the name is `secret/db`, or after the feature's own name `db` alone. Default none. */
  readonly objects?: readonly string[];
  /** True if flags ask this feature alone, without a name. Default never. */
  readonly isAsked?: (flag: FlagReader) => boolean;
  /** `name` is empty if it takes none. */
  readonly answer: (query: Query, asked: { readonly name: string; readonly allNamespaces: boolean; readonly flag: FlagReader }) => Promise<Report>;
}

/** A check of `keyturn doctor`. */
interface DoctorCheck {
  /** The word that its findings have. */
  readonly name: string;
  /** May reject: then it is a finding that nothing could be found. */
  readonly find: (query: Pick<Query, "client" | "nowMs" | "signal">) => Promise<readonly Finding[]>;
}

/** An answer: the same facts as a text for a terminal and as data for `-o json|yaml`. Never the content of a Secret. */
export interface Report {
  /** Without a line break at the end. */
  readonly text: string;
  /** The same with all there is, for `-o wide`. Default: the text. */
  readonly wide?: string;
  readonly data: unknown;
  /** What `keyturn diff` compares is not the same. */
  readonly differs?: boolean;
}

// Who Keyturn is in a cluster.

/** Labels everything that Keyturn leaves in a cluster. Never changes: objects in running clusters carry it. */
export const keyturn: Operator = { name: "keyturn", domain: "keyturn.io" };

// What `keyturn doctor` finds: one sentence each, and what to do about it.

/** How bad it is. `fail` keeps something from working; `warn` may, or could not be checked. */
type Level = "ok" | "warn" | "fail";

/** One thing that was checked. */
export interface Finding {
  /** What was checked, such as `rights`. */
  readonly check: string;
  readonly level: Level;
  /** One sentence. Never secret. */
  readonly message: string;
  /** What to do about it; absent if nothing needs to be done. */
  readonly todo?: string;
}

/** As it should be. */
export function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}

/** May be wrong, or could not be checked. */
export function warn(check: string, message: string, todo: string): Finding {
  return { check, level: "warn", message, todo };
}

/** Is wrong. */
export function fail(check: string, message: string, todo: string): Finding {
  return { check, level: "fail", message, todo };
}
