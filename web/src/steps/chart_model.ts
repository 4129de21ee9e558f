// Curves over the steps as numbers: finite and non-finite values, ranges and ticks.

import { numberFrom } from '../base/format';
import type { Trend, Value } from '../base/types';

export interface Curve {
  name: string;
  steps: number[];
  values: Value[];
  records: number[];
  trends: Trend[];
}

export interface Range {
  from: number;
  to: number;
}

export interface ChartData {
  curves: Curve[];
  // Steps that were not captured: curves are broken there.
  gaps: number[];
  // All steps, rising: captured or not.
  steps: number[];
  // Steps with a value that is not finite.
  bad: number[];
  logarithmic: boolean;
}

function rising(steps: Iterable<number>): number[] {
  return [...new Set(steps)].sort((one, other) => one - other);
}

// NaN when there is nothing to draw.
export function plotted(value: Value | undefined, logarithmic: boolean): number {
  const number = numberFrom(value);
  if (!Number.isFinite(number)) return NaN;
  if (!logarithmic) return number;
  return number === 0 ? NaN : Math.log10(Math.abs(number));
}

export function chartData(curves: Curve[], gaps: number[], logarithmic: boolean): ChartData {
  const bad = curves.flatMap((curve) =>
    curve.steps.filter(
      (_, i) => curve.values[i] !== null && curve.values[i] !== undefined && !Number.isFinite(numberFrom(curve.values[i])),
    ),
  );
  return { curves, gaps, steps: rising([...gaps, ...curves.flatMap((curve) => curve.steps)]), bad: rising(bad), logarithmic };
}

export function wholeRange(data: ChartData): Range {
  const from = data.steps[0] ?? 0;
  const to = data.steps[data.steps.length - 1] ?? 1;
  return from === to ? { from: from - 1, to: to + 1 } : { from, to };
}

// The range of the values at these steps, with some room above and below.
export function valueRange(data: ChartData, steps: Range): Range {
  let from = Infinity;
  let to = -Infinity;
  for (const curve of data.curves) {
    curve.steps.forEach((step, i) => {
      const value = plotted(curve.values[i], data.logarithmic);
      if (step < steps.from || step > steps.to || Number.isNaN(value)) return;
      from = Math.min(from, value);
      to = Math.max(to, value);
    });
  }
  if (from > to) return { from: 0, to: 1 };
  const room = to > from ? (to - from) * 0.06 : Math.max(Math.abs(to) * 0.1, 0.5);
  return { from: from - room, to: to + room };
}

// Round numbers, about `count` of them. `whole` for steps.
export function ticks(range: Range, count: number, whole: boolean): number[] {
  const rough = (range.to - range.from) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= rough) ?? 10 * power;
  if (whole) step = Math.max(1, Math.round(step));
  const found: number[] = [];
  for (let i = Math.ceil(range.from / step); i * step <= range.to && found.length < 100; i++) found.push(i * step);
  return found;
}

// Segments of a curve: a new one begins after a gap and after a value that cannot be drawn.
export function segments(data: ChartData, curve: Curve): { step: number; value: number }[][] {
  const gaps = new Set(data.gaps);
  const found: { step: number; value: number }[][] = [];
  let open: { step: number; value: number }[] | null = null;
  let gap = 0;
  curve.steps.forEach((step, i) => {
    const value = plotted(curve.values[i], data.logarithmic);
    const before = i > 0 ? curve.steps[i - 1] : step;
    gap = 0;
    for (let passed = before + 1; passed < step && gap === 0 && gaps.size > 0; passed++) if (gaps.has(passed)) gap = 1;
    if (Number.isNaN(value)) {
      open = null;
      return;
    }
    if (!open || gap > 0) found.push((open = []));
    open.push({ step, value });
  });
  return found;
}

export function nearestStep(data: ChartData, at: number): number | null {
  let best: number | null = null;
  for (const step of data.steps) if (best === null || Math.abs(step - at) < Math.abs(best - at)) best = step;
  return best;
}

export function valueAtStep(curve: Curve, step: number): Value | undefined {
  const at = curve.steps.indexOf(step);
  return at < 0 ? undefined : curve.values[at];
}
