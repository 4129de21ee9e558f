// Which series the chart shows: an op, others beside it, or a preset.

import { get, pathOf } from '../base/api';
import { change, numberOf, type Place } from '../base/place';
import type { List, RecordRow, Series, SeriesAnswer, Trend, Which } from '../base/types';
import { useAnswer, useLoaded, type Answer } from '../base/use_answer';

export type Preset = 'loss' | 'gradients';

// The column in which a preset's numbers are.
export const PRESET_KEY: Record<Preset, string> = { loss: 'mean', gradients: 'l2' };

export interface Chosen {
  op: number | null;
  slot: string;
}

export function presetOf(place: Place): Preset | null {
  const name = place.parameters.get('preset');
  return name === 'loss' || name === 'gradients' ? name : null;
}

// "12:out0": an op's number and slot.
export function besideOf(place: Place): Chosen[] {
  const found: Chosen[] = [];
  for (const text of place.parameters.getAll('with')) {
    const [op, slot] = text.split(':');
    if (/^\d+$/.test(op)) found.push({ op: Number(op), slot: slot ?? '' });
  }
  return found;
}

function wordOf({ op, slot }: Chosen): string {
  return slot ? `${op}:${slot}` : `${op}`;
}

// Adds an op to the chart, or begins with it.
export function addOp(place: Place, shown: Chosen, op: number): void {
  const beside = besideOf(place);
  if (shown.op === op || beside.some((one) => one.op === op)) return;
  if (shown.op === null) return change({ op, preset: null, at: null });
  change({ op: shown.op, slot: shown.slot || null, with: [...beside, { op, slot: '' }].map(wordOf) });
}

export function removeOp(place: Place, shown: Chosen, op: number): void {
  const beside = besideOf(place).filter((one) => one.op !== op);
  if (shown.op !== op) return change({ with: beside.map(wordOf) });
  change({ op: beside[0]?.op ?? null, slot: beside[0]?.slot || null, with: beside.slice(1).map(wordOf) });
}

// Without an op in the address, that of the first trend.
export function useOp(place: Place, which: Which, trends: Trend[]): Chosen {
  const op = numberOf(place, 'op');
  const slot = place.parameters.get('slot') ?? '';
  const isPreset = presetOf(place) !== null;
  const first = op === null && !isPreset ? trends[0] : undefined;
  const needsLookup = first !== undefined && first.op_id === undefined;
  const found = useAnswer<List<RecordRow>>(needsLookup ? pathOf('/api/records', { dump: which, step: first.step, limit: 1000 }) : null);
  if (isPreset) return { op: null, slot: '' };
  if (op !== null) return { op, slot };
  if (first?.op_id !== undefined) return { op: first.op_id, slot: slot || first.slot };
  const row = found.value?.items.find((one) => one.op === first?.op);
  return { op: row?.op_id ?? null, slot: slot || (first?.slot ?? '') };
}

async function all(paths: string, signal: AbortSignal): Promise<SeriesAnswer> {
  const answers = await Promise.all(paths.split(' ').map((path) => get<SeriesAnswer>(path, signal)));
  const series: Series[] = answers.flatMap((answer) => answer.series);
  return { series, gaps: answers[0].gaps };
}

export function useSeries(place: Place, which: Which, shown: Chosen, key: string): Answer<SeriesAnswer> {
  const preset = presetOf(place);
  const ops = [shown, ...besideOf(place)].filter((one) => one.op !== null);
  const paths = preset
    ? [pathOf('/api/preset', { dump: which, name: preset })]
    : ops.map(({ op, slot }) => pathOf('/api/series', { dump: which, op, slot, key }));
  return useLoaded(paths.length > 0 ? paths.join(' ') : null, all);
}
