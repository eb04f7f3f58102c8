// From values to pixels, and which values to name on an axis.

/** An axis: its values from `from` to `to` lie between the pixels `start` and `end`. */
export interface Scale {
  /** The pixel of a value. */
  readonly place: (value: number) => number;
  /** The values to name, in rising order. */
  readonly ticks: readonly number[];
}

/** Where a scale lies. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** From zero to a round number that no value exceeds. */
export function linearScale(values: readonly number[], { start, end }: Span): Scale {
  const highest = Math.max(0, ...values);
  const step = roundStep(highest / 4);
  const count = Math.max(1, Math.ceil(highest / step));
  const to = step * count;
  return { place: (value) => start + ((end - start) * value) / to, ticks: Array.from({ length: count + 1 }, (_, index) => index * step) };
}

/** Over whole decades' 1, 2 and 5, around positive values. */
export function logScale(values: readonly number[], { start, end }: Span): Scale {
  const positive = values.filter((value) => value > 0);
  const [lowest, highest] = [Math.min(...positive), Math.max(...positive)];
  const from = stepDown(lowest);
  const to = stepUp(Math.max(highest, from * 1.5));
  const width = Math.log(to / from);
  const all: number[] = [];
  for (let tick = from; tick <= to * 1.0001; tick = stepUp(tick * 1.5)) all.push(tick);
  // More than seven do not fit: whole decades are enough then.
  const ticks = all.length > 7 ? all.filter((tick) => isDecade(tick)) : all;
  return { place: (value) => start + ((end - start) * Math.log(value / from)) / width, ticks };
}

/** A number with few characters: `1.5k`, `20k`, `3M`. */
export function shortNumber(value: number): string {
  const [divisor, unit] = Math.abs(value) >= 1e6 ? [1e6, "M"] : Math.abs(value) >= 1e3 ? [1e3, "k"] : [1, ""];
  return `${Number((value / divisor).toPrecision(3))}${unit}`;
}

function roundStep(least: number): number {
  return least > 0 ? stepUp(least) : 1;
}

const steps = [1, 2, 5, 10];

function stepUp(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return tidy((steps.find((step) => step * decade >= value * 0.9999) ?? 10) * decade);
}

function stepDown(value: number): number {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return tidy((steps.findLast((step) => step * decade <= value * 1.0001) ?? 1) * decade);
}

function isDecade(value: number): boolean {
  return Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6;
}

/** Without what binary fractions leave behind. */
function tidy(value: number): number {
  return Number(value.toPrecision(6));
}
