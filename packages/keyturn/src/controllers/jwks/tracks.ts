// A published JWKS as lanes over time: one for each key, with when it was active, when it only verifies, and when it goes.
import { type Bar, type Fact, type Health, hueCount, type LaneTrack, type Mark, type Track } from "@keyturn/dashboard/contract";
import { shortDigest } from "../../feature/record.ts";
import type { KeySet, KeyView } from "./records.ts";

/** The tracks of a key set: its heading and its keys. */
export function keyTracks(record: KeySet): readonly Track[] {
  const active = record.keys.filter(({ state }) => state === "Active").length;
  const retiring = record.keys.filter(({ state }) => state === "Retiring").length;
  return [
    {
      type: "group",
      id: record.id,
      ref: record.ref,
      title: record.ref.name,
      note: `${record.ref.namespace} · ${record.ref.kind} · ${active} active, ${retiring} retiring · ${servedText(record)}`,
      ...(record.served?.holds === false ? { warning: `not served: ${record.served.reason}` } : {}),
    },
    ...record.keys.map((key) => keyLane(key, record)),
  ];
}

/** Whether pods answer with the JWKS document, in words. */
export function servedText({ served, configMap }: Pick<KeySet, "served" | "configMap">): string {
  if (served === undefined) return `in ConfigMap ${configMap}`;
  return served.holds ? "served by nginx" : "not served";
}

function keyLane(key: KeyView, record: KeySet): LaneTrack {
  return {
    type: "lane",
    id: `${record.id}/${key.kid}`,
    title: shortDigest(key.kid),
    note: key.signs ? `signs · ${key.algorithm}` : key.algorithm,
    bars: barsOf(key, record),
    bands: [],
    marks: marksOf(key),
  };
}

function barsOf(key: KeyView, record: KeySet): readonly Bar[] {
  const id = `${record.id}/${key.kid}`;
  const hue = hueOf(key.kid);
  const facts: readonly Fact[] = [
    { name: "published", atMs: key.sinceMs },
    ...(key.replacedMs === undefined ? [] : [{ name: "replaced", atMs: key.replacedMs }]),
    ...(key.removeMs === undefined ? [] : [{ name: key.state === "Removed" ? "removed" : "removal", atMs: key.removeMs }]),
    ...(key.certificateExpiresMs === undefined ? [] : [{ name: "certificate expires", atMs: key.certificateExpiresMs }]),
    ...(key.source === "" ? [] : [{ name: "from Secret", text: key.source }]),
    { name: "algorithm", text: key.algorithm },
    { name: "kid", text: key.kid, mono: true },
  ];
  const common = { hue, facts };
  const label = key.source === "" ? shortDigest(key.kid) : key.source;
  if (key.state === "Removed") return [{ ...common, id, fromMs: key.sinceMs, ...endOf(key.removeMs), look: "removed", label, title: "Removed key" }];
  const activeTitle = key.state === "Active" ? (key.signs ? "Key that signs" : "Key that is published ahead") : "Key while it was active";
  const active: Bar = {
    ...common,
    id,
    fromMs: key.sinceMs,
    ...endOf(key.replacedMs),
    look: key.state === "Active" ? "live" : "past",
    label: key.signs ? `signs · ${label}` : label,
    title: activeTitle,
  };
  if (key.replacedMs === undefined) return [active];
  return [
    active,
    { ...common, id: `${id}/retiring`, fromMs: key.replacedMs, ...endOf(key.removeMs), look: "retiring", label: "retiring", title: "Retiring key" },
  ];
}

function endOf(toMs: number | undefined): { readonly toMs?: number } {
  return toMs === undefined ? {} : { toMs };
}

function marksOf(key: KeyView): readonly Mark[] {
  const expiryHealth: Health = key.state === "Active" ? "degraded" : "unknown";
  return [
    ...(key.certificateExpiresMs === undefined || key.state === "Removed"
      ? []
      : [{ kind: "expiry", atMs: key.certificateExpiresMs, health: expiryHealth } as const]),
    ...(key.removeMs === undefined ? [] : [{ kind: "end", atMs: key.removeMs, health: "unknown" } as const]),
  ];
}

/** Keys have no order of their own, so the hue comes from the kid. */
function hueOf(kid: string): number {
  let sum = 0;
  for (const letter of kid) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return sum % hueCount;
}
