// For tests: the caches of a process against a server whose every answer is written by the test, in virtual time.
import { defineKind, type KubeObject } from "../client/kind.ts";
import type { WriteRecord } from "../controller/run.ts";
import type { Logger } from "../observe/logger.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { bookmarkLine, objectLine, ScriptedServer } from "../watch/scripted-server.fixture.ts";
import { type CacheRegistry, createCaches } from "./caches.ts";

export interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number };
}
export const widgets = defineKind<Widget>({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

/** What was logged. */
class RecordingLog implements Logger {
  readonly lines: { readonly level: string; readonly fields: object; readonly message: string }[] = [];
  debug = (fields: object, message: string): void => void this.lines.push({ level: "debug", fields, message });
  info = (fields: object, message: string): void => void this.lines.push({ level: "info", fields, message });
  warn = (fields: object, message: string): void => void this.lines.push({ level: "warn", fields, message });
  error = (fields: object, message: string): void => void this.lines.push({ level: "error", fields, message });
  child = (): Logger => this;
}

/** Caches that were not started, and all they are made with. */
export interface ScriptedCaches {
  readonly clock: VirtualClock;
  readonly server: ScriptedServer;
  readonly log: RecordingLog;
  readonly caches: CacheRegistry;
  readonly stop: AbortController;
  /** Lets everything happen that needs no time. */
  readonly settle: () => Promise<void>;
}

/** Limited to these namespaces, if there are any. */
export function scriptedCaches(namespaces: readonly string[] = []): ScriptedCaches {
  const clock = new VirtualClock();
  const server = new ScriptedServer();
  const log = new RecordingLog();
  const caches = createCaches({ transport: server, clock, random: () => 0.5, log, namespaces });
  const stop = new AbortController();
  return { clock, server, log, caches, stop, settle: () => clock.advance(0) };
}

/** Answers the open WatchList with these objects. */
export function answerStream(server: ScriptedServer, resourceVersion: string, names: readonly string[]): void {
  server.last.answer(200);
  for (const name of names) server.last.line(objectLine("ADDED", name, resourceVersion));
  server.last.line(bookmarkLine(resourceVersion, true));
}

/** What the client notes of a write. */
export function written(name: string, resourceVersion: string, labels: Record<string, string> = {}): WriteRecord {
  return { type: "written", kind: widgets, key: `ns/${name}`, uid: `uid-${name}`, resourceVersion, labels };
}
