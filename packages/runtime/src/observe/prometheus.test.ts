// Metrics by hand: what is shown, in which order, and what is refused.
import { describe, expect, test } from "vitest";
import { metricsOf } from "./metrics.ts";
import { Registry } from "./prometheus.ts";

const table = {
  requests_total: { type: "counter", help: "Requests.", labels: ["method", "code"] },
  starts_total: { type: "counter", help: "Starts.", labels: [] },
  temperature: { type: "gauge", help: "How warm it is.", labels: ["room"] },
  open: { type: "gauge", help: 'A \\ and\na "quote".', labels: [] },
  wait_seconds: { type: "histogram", help: "Waits.", labels: ["queue"], buckets: [0.00000001, 0.5, 2] },
  size: { type: "histogram", help: "Sizes.", labels: [], buckets: [1] },
} as const;

/** The metrics above, and the lines of one that are not comments. */
function setUp() {
  const registry = new Registry();
  const linesOf = (name: string): readonly string[] =>
    registry
      .textOf(name)
      .split("\n")
      .filter((line) => !line.startsWith("#"));
  return { registry, linesOf, of: metricsOf({ registry }, table) };
}

test("metrics without labels are there from the start, series with labels once they are used", () => {
  const { registry, of } = setUp();
  of.requests_total.inc({ method: "GET", code: "200" });
  of.wait_seconds.observe({ queue: "q" }, 0.5);
  expect(registry.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(registry.text()).toBe(`# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="GET",code="200"} 1

# HELP starts_total Starts.
# TYPE starts_total counter
starts_total 0

# HELP temperature How warm it is.
# TYPE temperature gauge

# HELP open A \\\\ and\\na "quote".
# TYPE open gauge
open 0

# HELP wait_seconds Waits.
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1e-8",queue="q"} 0
wait_seconds_bucket{le="0.5",queue="q"} 1
wait_seconds_bucket{le="2",queue="q"} 1
wait_seconds_bucket{le="+Inf",queue="q"} 1
wait_seconds_sum{queue="q"} 0.5
wait_seconds_count{queue="q"} 1

# HELP size Sizes.
# TYPE size histogram
size_bucket{le="1"} 0
size_bucket{le="+Inf"} 0
size_sum 0
size_count 0
`);
});

describe("a counter", () => {
  test("grows by one or by what it is told, also by nothing", () => {
    const { of, linesOf } = setUp();
    of.starts_total.inc();
    of.starts_total.inc(2.5);
    of.requests_total.inc({ method: "GET", code: "200" }, 0);
    expect([...linesOf("starts_total"), ...linesOf("requests_total")]).toEqual(["starts_total 3.5", 'requests_total{method="GET",code="200"} 0']);
  });

  test.each([-1, Number.NaN, Infinity, -Infinity])("does not take %s", (value) => {
    const { of, linesOf } = setUp();
    expect(() => of.starts_total.inc(value)).toThrow(`cannot add ${value} to the counter starts_total: it takes finite numbers from 0 up`);
    expect(() => of.requests_total.inc({ method: "GET", code: "200" }, value)).toThrow(RangeError);
    expect([...linesOf("starts_total"), ...linesOf("requests_total")]).toEqual(["starts_total 0"]);
  });
});

describe("a gauge", () => {
  test("becomes what it is told, in Prometheus' words", () => {
    const { of, linesOf } = setUp();
    const values = { cellar: -3.5, roof: Infinity, attic: -Infinity, hall: Number.NaN, sun: 1e21, space: 5e-324 };
    for (const [room, value] of Object.entries(values)) of.temperature.set({ room }, value);
    expect(linesOf("temperature").map((line) => line.slice("temperature".length))).toEqual([
      '{room="cellar"} -3.5',
      '{room="roof"} +Inf',
      '{room="attic"} -Inf',
      '{room="hall"} NaN',
      '{room="sun"} 1e+21',
      '{room="space"} 5e-324',
    ]);
  });

  test("keeps its series in the order in which they came; one that went and comes again is the last", () => {
    const { of, linesOf } = setUp();
    const rooms = (): readonly (string | undefined)[] => linesOf("temperature").map((line) => line.split('"')[1]);
    for (const room of ["10", "b", "a", "2"]) of.temperature.inc({ room });
    of.temperature.set({ room: "b" }, 7);
    expect(rooms()).toEqual(["10", "b", "a", "2"]);
    of.temperature.remove({ room: "b" });
    of.temperature.remove({ room: "never there" });
    expect(rooms()).toEqual(["10", "a", "2"]);
    of.temperature.inc({ room: "b" }, -2);
    expect(linesOf("temperature").at(-1)).toBe('temperature{room="b"} -2');
  });

  test("is forgotten, and without labels begins at 0 again", () => {
    const { of, linesOf } = setUp();
    of.temperature.set({ room: "a" }, 1);
    of.temperature.reset();
    of.open.set(5);
    of.open.reset();
    expect([linesOf("temperature"), linesOf("open")]).toEqual([[], ["open 0"]]);
    of.open.remove();
    expect(linesOf("open")).toEqual([]);
    of.open.inc();
    expect(linesOf("open")).toEqual(["open 1"]);
  });
});

describe("a histogram", () => {
  test("counts a value at its bound below it, and one above all bounds only in the whole", () => {
    const { of, linesOf } = setUp();
    for (const value of [1, 1.001, -5, 1e9]) of.size.observe(value);
    expect(linesOf("size")).toEqual(['size_bucket{le="1"} 2', 'size_bucket{le="+Inf"} 4', "size_sum 999999997.001", "size_count 4"]);
  });

  test.each([Number.NaN, Infinity, -Infinity])("does not take %s", (value) => {
    const { of, linesOf } = setUp();
    expect(() => of.size.observe(value)).toThrow(`cannot observe ${value} with the histogram size: it takes finite numbers`);
    expect(linesOf("size").at(-1)).toBe("size_count 0");
  });

  test("needs bounds that go up, and the label le for itself", () => {
    const make = (labels: readonly string[], buckets: readonly number[]) => () =>
      new Registry().metric("h", { type: "histogram", help: "H.", labels, buckets });
    for (const buckets of [[1, 1], [2, 1], [Number.NaN], [1, Infinity]]) expect(make([], buckets)).toThrow("its buckets must be finite and go up");
    expect(make(["le"], [1])).toThrow("cannot make the histogram h with a label le");
  });
});

describe("labels", () => {
  test("are escaped", () => {
    const { of, linesOf } = setUp();
    of.temperature.set({ room: 'a\\b"c\nd\\n' }, 1);
    expect(linesOf("temperature")).toEqual(['temperature{room="a\\\\b\\"c\\nd\\\\n"} 1']);
  });

  test("are shown in the order of the table, however they are given", () => {
    const { of, linesOf } = setUp();
    of.requests_total.inc({ code: "200", method: "GET" });
    of.requests_total.inc({ method: "GET", code: "200" });
    expect(linesOf("requests_total")).toEqual(['requests_total{method="GET",code="200"} 2']);
  });

  test("that the metric does not have are refused, by the compiler too", () => {
    const { of, linesOf } = setUp();
    const message = "cannot use the label colour with the metric temperature, whose labels are (room)";
    // @ts-expect-error there is no such label
    expect(() => of.temperature.set({ room: "a", colour: "red" }, 1)).toThrow(message);
    // @ts-expect-error there is no such label
    expect(() => of.temperature.remove({ colour: "red" })).toThrow(message);
    // @ts-expect-error there are no labels
    expect(() => of.starts_total.inc({ room: "a" })).toThrow("whose labels are ()");
    expect(linesOf("temperature")).toEqual([]);
  });

  test("that are missing are refused by the compiler, and else left out", () => {
    const { of, linesOf } = setUp();
    // @ts-expect-error the code is missing
    of.requests_total.inc({ method: "GET" });
    // @ts-expect-error the labels are missing
    of.requests_total.inc();
    // @ts-expect-error there is no number
    expect(() => of.temperature.set({ room: "a" })).toThrow("cannot set the gauge temperature: there is no number to set it to");
    expect(linesOf("requests_total")).toEqual(['requests_total{method="GET"} 1', "requests_total 1"]);
  });
});

describe("a name", () => {
  test("is one metric, however often it is asked for", () => {
    const { registry, of, linesOf } = setUp();
    of.starts_total.inc();
    metricsOf({ registry }, table).starts_total.inc();
    expect(linesOf("starts_total")).toEqual(["starts_total 2"]);
    expect(registry.text().match(/TYPE starts_total/g)).toHaveLength(1);
  });

  test("is not that of two different metrics", () => {
    const { registry } = setUp();
    expect(() => registry.metric("open", { type: "counter", help: "Opens.", labels: [] })).toThrow(
      "cannot make the metric open, a counter with the labels (): there is one of this name, a gauge with the labels ()",
    );
    expect(() => registry.metric("open", { type: "gauge", help: "Open.", labels: ["door"] })).toThrow("a gauge with the labels (door)");
    expect(() => registry.metric("size", { type: "histogram", help: "Sizes.", labels: [], buckets: [1, 2] })).toThrow("and the buckets 1, 2");
  });

  test.each(["", "1st", "a-b", "ä", "a b"])("%j is refused", (name) => {
    const registry = new Registry();
    expect(() => registry.metric(name, { type: "gauge", help: "G.", labels: [] })).toThrow("cannot make a metric of the name");
    expect(() => registry.metric("g", { type: "gauge", help: "G.", labels: [name] })).toThrow("cannot make the metric g with the label");
    expect(registry.text()).toBe("\n");
    expect(registry.textOf("g")).toBe("");
  });
});
