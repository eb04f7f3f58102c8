// Random histories of a namespace: nothing is published that nobody announced, whatever the order, the pauses and the crashes.
import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readPublicKeys, readSigningKey } from "./announcement.ts";
import { PublishedWorld } from "./published-world.fixture.ts";

const minuteMs = 60_000;
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const key = readSigningKey(privateKey.export({ format: "pem", type: "pkcs8" }).toString());
const keys = readPublicKeys(publicKey.export({ format: "pem", type: "spki" }).toString());

const names = ["web-1", "web-2", "web-3"];
const name = fc.constantFrom(...names);
const version = fc.integer({ min: 1, max: 3 });

/** What people and machines do. `say`: a signed word, which is then carried out or not. */
const action = fc.oneof(
  fc.record({
    type: fc.constant("say" as const),
    changes: fc.dictionary(name, fc.option(version, { nil: undefined }), { minKeys: 1 }),
    isDone: fc.boolean(),
  }),
  fc.record({ type: fc.constant("put" as const), name, version }),
  fc.record({ type: fc.constant("delete" as const), name }),
  fc.record({ type: fc.constant("leaveOut" as const), name }),
  fc.record({ type: fc.constant("confirm" as const) }),
  fc.record({ type: fc.constant("wait" as const), minutes: fc.constantFrom(1, 5, 11, 60, 2000, 50_000) }),
);

const idOf = (each: string, number: number): string => `${each.slice(4)}-${number}`;

test("with signatures, what counts is exactly what the last word on each object says", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 25 }), fc.nat(3), (actions, crash) => {
      const world = new PublishedWorld();
      world.askForSignatures(keys);
      const live = new Map<string, string>();
      // The last word on each object, and whether every word of its announcement was ever there together.
      const said = new Map<string, string | undefined>();
      const leftOut = new Set<string>();
      const show = (): void => {
        world.setObjects(Object.fromEntries(live));
        for (const each of leftOut) world.leaveOut(each);
      };
      for (const each of actions) {
        if (each.type === "say") {
          const changes = Object.entries(each.changes).flatMap(([object, number]) => {
            const [from, to] = [live.get(object), number === undefined ? undefined : idOf(object, number)];
            if (from === to) return [];
            return [{ name: object, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
          });
          if (changes.length === 0) continue;
          world.announceChanges(10 * minuteMs, changes, key);
          // One that is not carried out is given up when its time is over, and says nothing.
          if (!each.isDone) world.nowMs += 11 * minuteMs;
          else {
            for (const { name: object, to } of changes) {
              said.set(object, to);
              leftOut.delete(object);
              if (to === undefined) live.delete(object);
              else live.set(object, to);
            }
          }
        } else if (each.type === "put") {
          live.set(each.name, idOf(each.name, each.version));
          leftOut.delete(each.name);
        } else if (each.type === "delete" || each.type === "leaveOut") {
          live.delete(each.name);
          leftOut.delete(each.name);
          if (each.type === "leaveOut") leftOut.add(each.name);
        } else if (each.type === "confirm") {
          show();
          world.allow(key);
          for (const object of names) if (live.has(object) || said.get(object) !== undefined) said.set(object, live.get(object));
        } else world.nowMs += each.minutes * minuteMs;
        show();
        // A crash between any two writes.
        world.carryOut(world.plan(), crash);
        const { isHeld } = world.settle();
        const isAsSaid = names.every((object) => said.get(object) === live.get(object));
        // While a batch is half-written nothing is said about the rest.
        const isAwaited = [...world.objects.values()].some(({ spec, status }) => spec.announcement && !status?.reached);
        if (!isAwaited) expect({ each, isHeld }).toEqual({ each, isHeld: !isAsSaid });
        const [newest] = [...world.objects.values()].sort((left, right) => Date.parse(right.spec.timestamp) - Date.parse(left.spec.timestamp));
        const current = newest?.status?.conditions?.find(({ type }) => type === "Current");
        if (current?.status === "True") expect(isAsSaid).toBe(true);
      }
    }),
    { numRuns: 150 },
  );
});

test("without, no hour takes more than a fifth, or two, that nobody announced", () => {
  const step = fc.record({ minutes: fc.constantFrom(1, 7, 29, 31, 59, 61), count: fc.integer({ min: 1, max: 40 }) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 30 }), (steps) => {
      const world = new PublishedWorld();
      const shown: { count: number; fromMs: number; untilMs: number }[] = [];
      for (const { minutes, count } of steps) {
        world.nowMs += minutes * minuteMs;
        world.setLive(...Array.from({ length: count }, (_, index) => `${index + 1}-1`));
        if (world.settle().isHeld) continue;
        const last = shown.at(-1);
        if (last) last.untilMs = world.nowMs;
        shown.push({ count, fromMs: world.nowMs, untilMs: Infinity });
        for (const earlier of shown) {
          if (earlier.untilMs <= world.nowMs - 60 * minuteMs) continue;
          expect(earlier.count - count).toBeLessThanOrEqual(Math.max(2, earlier.count / 5));
        }
      }
    }),
    { numRuns: 200 },
  );
});
