// A feature: one of the five stages that a credential passes through, as the product's parts see it.
import type { Client, ControllerDefinition, CustomKind, MetricRow, Operator } from "@keyturn/runtime";
import type { Flag } from "./flag.ts";
import type { Records } from "./record.ts";

/** The five steps, in the order in which a credential passes through them. The names are part of the command line and never change. */
export const featureNames = ["eventing-auth", "rotation", "jwks", "checksum", "sidecars"] as const;
export type FeatureName = (typeof featureNames)[number];

/** What the command line, the manifests and the docs need to know about a feature. */
export interface Feature {
  readonly name: FeatureName;
  /** One sentence for `--help` and the docs. */
  readonly summary: string;
  /** The feature's own flags; each name starts with `<feature>.`. */
  readonly flags: readonly Flag[];
  /** The feature's own metrics by name, each name starting with `keyturn_`; controllers make them with `metricsOf(scope.metrics, table)`. */
  readonly metrics: Readonly<Record<string, MetricRow>>;
  /** The kinds it serves; their CRDs are printed by `keyturn crds`. */
  readonly kinds: readonly CustomKind[];
  /** What people see of it: one record for `keyturn status` and the page alike. */
  readonly records: Records;
  /** The controllers that do the work, made from the values of `flags` as given on the command line; each says which rights it then needs. */
  controllers(flags: FlagReader): readonly ControllerDefinition[];
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

/** An answer: the same facts as a text for a terminal and as data for `-o json|yaml`. Never the content of a Secret. */
export interface Report {
  /** Without a line break at the end. */
  readonly text: string;
  readonly data: unknown;
}

// Who Keyturn is in a cluster.

/** Marks everything that Keyturn leaves in a cluster. Never changes: objects in running clusters carry it. */
export const keyturn: Operator = { name: "keyturn", domain: "keyturn.io" };
