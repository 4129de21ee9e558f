// Series as curves: one point for each step, or one curve for each call of an op that runs several times in a step.

import { numberFrom } from '../base/format';
import type { Series, Value } from '../base/types';
import type { Curve } from './chart_model';

// What one point says of several calls, by column.
const OF_CALLS: Record<string, string> = {
  absmax: 'the largest of the calls',
  max: 'the largest of the calls',
  min: 'the smallest of the calls',
  l2: 'the norm of all calls together',
  zero: 'the sum over the calls',
  nan: 'the sum over the calls',
  mean: 'the mean of the calls',
  std: 'the mean of the calls',
};

export function ofCalls(key: string): string {
  return OF_CALLS[key] ?? 'the mean of the calls';
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

// A value that is not finite wins: no step may look better than the worst of its calls.
function together(key: string, values: Value[]): Value {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (known.length < 2) return known[0] ?? null;
  const bad = known.find((value) => !Number.isFinite(numberFrom(value)));
  if (bad !== undefined) return bad;
  const numbers = known.map((value) => numberFrom(value));
  if (key === 'absmax' || key === 'max') return Math.max(...numbers);
  if (key === 'min') return Math.min(...numbers);
  if (key === 'l2') return Math.hypot(...numbers);
  if (key === 'zero' || key === 'nan') return sum(numbers);
  return sum(numbers) / numbers.length;
}

export function mostCalls(all: Series[]): number {
  let most = 0;
  for (const series of all) {
    const calls = new Map<number, number>();
    for (const step of series.steps) calls.set(step, (calls.get(step) ?? 0) + 1);
    for (const count of calls.values()) most = Math.max(most, count);
  }
  return most;
}

function pointOfEachStep(series: Series, key: string, name: string): Curve {
  const values = series.keys[key] ?? [];
  const places = new Map<number, number[]>();
  series.steps.forEach((step, i) => {
    const found = places.get(step);
    if (found) found.push(i);
    else places.set(step, [i]);
  });
  const curve: Curve = { name, steps: [...places.keys()], values: [], records: [], trends: series.trends ?? [] };
  for (const found of places.values()) {
    const value = together(
      key,
      found.map((i) => values[i] ?? null),
    );
    const own = found.find((i) => values[i] === value) ?? found[found.length - 1];
    curve.values.push(value);
    curve.records.push(series.records[own]);
  }
  return curve;
}

function curveOfEachCall(series: Series, key: string, name: string): Curve[] {
  const values = series.keys[key] ?? [];
  const curves: Curve[] = [];
  const seen = new Map<number, number>();
  series.steps.forEach((step, i) => {
    const number = seen.get(step) ?? 0;
    seen.set(step, number + 1);
    curves[number] ??= { name: `${name} call ${number}`, steps: [], values: [], records: [], trends: [] };
    curves[number].steps.push(step);
    curves[number].values.push(values[i] ?? null);
    curves[number].records.push(series.records[i]);
  });
  return curves.length > 1 ? curves : [pointOfEachStep(series, key, name)];
}

function nameOf(series: Series, all: Series[]): string {
  const differ = (value: (one: Series) => unknown) => new Set(all.map(value)).size > 1;
  const parts = [differ((one) => one.op) ? `${series.op}${series.slot === 'gradients' ? '' : ' ' + series.slot}` : series.slot];
  if (differ((one) => one.phase)) parts.push(series.phase);
  if (differ((one) => one.rank)) parts.push(`rank ${series.rank}`);
  return parts.join(' ');
}

export function curvesOf(all: Series[], key: string, byCall: boolean): Curve[] {
  return all.flatMap((series) => {
    const name = nameOf(series, all);
    return byCall ? curveOfEachCall(series, key, name) : [pointOfEachStep(series, key, name)];
  });
}
