// Whatever is put into labels and values can be read back from the text.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type MetricRow, metricsOf } from "./metrics.ts";
import { Registry } from "./prometheus.ts";

const labels = ["first", "second"] as const;
const buckets = [-1, 0, 0.25, 10];
const table = {
  counter: { type: "counter", help: "C.", labels },
  gauge: { type: "gauge", help: "G.", labels },
  histogram: { type: "histogram", help: "H.", labels, buckets },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Values in which one label could be taken for another, and any others. */
const labelValue = fc.oneof(
  fc.string({ unit: fc.constantFrom("\\", '"', "\n", ",", "=", "{", "}", " ", "a", "n"), maxLength: 4 }),
  fc.string({ unit: "binary" }),
);
const seriesLabels = fc.record({ first: labelValue, second: labelValue });
const amount = fc.double({ min: 0, max: 1e9, noNaN: true });
const operation = fc.oneof(
  fc.record({ verb: fc.constant("add" as const), labels: seriesLabels, value: amount }),
  fc.record({ verb: fc.constant("set" as const), labels: seriesLabels, value: fc.double() }),
  fc.record({ verb: fc.constant("remove" as const), labels: seriesLabels }),
  fc.record({ verb: fc.constant("observe" as const), labels: seriesLabels, value: fc.double({ min: -20, max: 20, noNaN: true }) }),
  fc.record({ verb: fc.constant("reset" as const) }),
);

/** Reads the text format as its description says, and refuses all else. The keys are the name and the labels, as JSON. */
function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# ")) continue;
    const { name = "", labels = "", value = "" } = /^(?<name>\w+)\{(?<labels>.*)\} (?<value>\S+)$/s.exec(line)?.groups ?? {};
    const pairs: Record<string, string> = {};
    const rest = labels.replaceAll(/(\w+)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/g, (_, label: string, escaped: string) => {
      pairs[label] = escaped.replaceAll(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
      return "";
    });
    const key = seriesKey(name, pairs);
    if (name === "" || rest !== "" || samples.has(key)) throw new Error(`cannot read ${JSON.stringify(line)}, or it is there twice`);
    samples.set(key, Number(value.replace("Inf", "Infinity")));
  }
  return samples;
}

function seriesKey(name: string, pairs: Readonly<Record<string, string>>): string {
  return JSON.stringify([name, Object.entries(pairs).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

test("the text says what was done, for any labels", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 40 }), (operations) => {
      const registry = new Registry();
      const of = metricsOf({ registry }, table);
      const expected = new Map<string, number>();
      const add = (key: string, value: number): void => void expected.set(key, (expected.get(key) ?? 0) + value);
      for (const step of operations) {
        if (step.verb === "add") {
          of.counter.inc(step.labels, step.value);
          add(seriesKey("counter", step.labels), step.value);
        } else if (step.verb === "set") {
          of.gauge.set(step.labels, step.value);
          // There is one zero in text.
          expected.set(seriesKey("gauge", step.labels), step.value === 0 ? 0 : step.value);
        } else if (step.verb === "remove") {
          of.gauge.remove(step.labels);
          expected.delete(seriesKey("gauge", step.labels));
        } else if (step.verb === "observe") {
          of.histogram.observe(step.labels, step.value);
          for (const bound of buckets) add(seriesKey("histogram_bucket", { ...step.labels, le: String(bound) }), step.value <= bound ? 1 : 0);
          add(seriesKey("histogram_bucket", { ...step.labels, le: "+Inf" }), 1);
          add(seriesKey("histogram_sum", step.labels), step.value);
          add(seriesKey("histogram_count", step.labels), 1);
        } else {
          of.gauge.reset();
          for (const key of expected.keys()) if (key.startsWith('["gauge"')) expected.delete(key);
        }
      }
      expect(parse(registry.text())).toEqual(expected);
    }),
  );
});
