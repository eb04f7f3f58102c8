// The flags of this feature: which objects are covered, in which namespaces, and how checksums are published.
import { readFileSync } from "node:fs";
import {
  choiceFlag,
  durationFlag,
  type Flag,
  listFlag,
  numberFlag,
  switchFlag,
  textFlag,
  textFlagWithDefault,
  UsageError,
} from "../../feature/flag.ts";
import { type AnnouncementKey, readPublicKeys } from "./announcement.ts";
import { limitFlags } from "./blast-radius.ts";
import { defaultVersionAnnotations } from "./ids.ts";

/** A namespace with this label is covered unless flags say otherwise. */
const namespaceLabel = "keyturn.io/checksum=enabled";

const versionAnnotations = listFlag({
  name: "checksum.version-annotations",
  help: `the annotations that may hold an object's version; the first that is there counts (default ${defaultVersionAnnotations.join(",")})`,
});

const kindNames = ["secrets", "ingresses"] as const;
const kinds = listFlag({ name: "checksum.kinds", help: "what checksums are published of: secrets, ingresses or both (default both)" });

const kindsFlag: Flag<readonly (typeof kindNames)[number][]> = {
  ...kinds,
  parse(text) {
    const chosen = kinds.parse(text);
    const unknown = chosen.find((kind) => !kindNames.some((known) => known === kind));
    if (unknown !== undefined) throw new Error(`"${unknown}" is not one of ${kindNames.join(", ")}`);
    return chosen.length === 0 ? kindNames : kindNames.filter((kind) => chosen.includes(kind));
  },
};

const versionAnnotationsFlag: Flag<readonly string[]> = {
  ...versionAnnotations,
  parse(text) {
    const names = versionAnnotations.parse(text);
    return names.length === 0 ? defaultVersionAnnotations : names;
  },
};

/** Public keys of those who may announce, for operator and agents. */
export const announcementKeysFlag = textFlag({
  name: "checksum.announcement-keys",
  placeholder: "FILE",
  help: "a PEM file with the public Ed25519 keys of those who may announce; an announcement counts if one of them has signed it",
});

/** The keys in such a file. Rejects nothing silently: throws a `UsageError` that says what is wrong with the file. */
export function readAnnouncementKeys(path: string): readonly AnnouncementKey[] {
  try {
    return readPublicKeys(readFileSync(path, "utf8"));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "it cannot be read";
    throw new UsageError(`--${announcementKeysFlag.name}: ${path}: ${reason}`, { cause });
  }
}

/** Which objects count: the same for whoever publishes, announces or verifies. */
export const memberFlags = {
  versionAnnotations: versionAnnotationsFlag,
  secretSelector: textFlag({ name: "checksum.secret-selector", placeholder: "LABELS", help: "only Secrets with these labels; otherwise all" }),
  secretTypes: choiceFlag({
    name: "checksum.secret-types",
    choices: ["tls", "all"],
    default: "tls",
    help: "tls: only Secrets of type kubernetes.io/tls; all: every Secret that has a version, as Tengine counts them",
  }),
  ingressSelector: textFlag({ name: "checksum.ingress-selector", placeholder: "LABELS", help: "only Ingresses with these labels; otherwise all" }),
  ingressClasses: listFlag({ name: "checksum.ingress-classes", help: "only Ingresses of these classes; otherwise all" }),
};

/** Everything about publishing. */
export const checksumFlags = {
  kinds: kindsFlag,
  namespaces: listFlag({ name: "checksum.namespaces", help: "the namespaces to publish checksums in; they take the place of the selector" }),
  namespaceSelector: textFlagWithDefault({
    name: "checksum.namespace-selector",
    placeholder: "LABELS",
    default: namespaceLabel,
    help: "publish checksums in the namespaces with these labels",
  }),
  scope: textFlagWithDefault({
    name: "checksum.scope",
    placeholder: "namespace|all|LABEL",
    default: "namespace",
    help: "what one checksum covers, as one fleet of gateways watches it: namespace = each chosen namespace by itself; all = all chosen namespaces together; otherwise the key of a label: namespaces with the same value together",
  }),
  publishIn: textFlag({
    name: "checksum.publish-in",
    placeholder: "NAMESPACE",
    help: "with --checksum.scope=all: the namespace in which the checksum is published; with --checksum.namespaces one of them",
  }),
  ...memberFlags,
  stabilize: durationFlag({
    name: "checksum.settle",
    default: "2s",
    help: "how long a namespace must be quiet before its checksum is published; ten times as long at most",
  }),
  keep: numberFlag({ name: "checksum.keep", default: 3, least: 1, most: 100, help: "the most checksums of earlier states that stay" }),
  keepFor: durationFlag({
    name: "checksum.keep-for",
    default: "10m",
    help: "how long the checksum of an earlier state stays after another took its place",
  }),
  maxAnnouncement: durationFlag({
    name: "checksum.longest-announcement",
    default: "1h",
    help: "how long an announced state is awaited, however long it was announced for",
  }),
  ...limitFlags,
  announcedOnly: listFlag({
    name: "checksum.announced-only",
    help: "the namespaces, or scopes with one of them, in which only what was announced and signed is published; * for all. Needs --checksum.announcement-keys",
  }),
  announcementKeys: announcementKeysFlag,
  publishEmpty: switchFlag({
    name: "checksum.publish-empty",
    default: false,
    help: "publish a checksum of nothing when no object counts any more; otherwise the last one stays, and gateways keep what they have",
  }),
};

/** What one checksum covers: the same for whoever publishes, announces or compares. */
export const scopeFlags = [checksumFlags.scope, checksumFlags.namespaces, checksumFlags.namespaceSelector, checksumFlags.publishIn] as const;
