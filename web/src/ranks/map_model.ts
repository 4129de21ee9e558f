// Ranks by steps: where cells lie, and what they say.

import { scaleOf, type Scale } from '../base/colours';
import { counted, formatNumber } from '../base/format';
import type { RankMap } from '../base/types';

export interface MapPlace {
  row: number;
  column: number;
}

// A scale from the smallest to the largest distance; colours lie between them.
export function scaleOfMap(map: RankMap): Scale | null {
  const numbers = map.ranks.flatMap((rank) => rank.distances.filter((one) => one !== null));
  if (numbers.length === 0) return null;
  const smallest = numbers.reduce((a, b) => Math.min(a, b));
  const largest = numbers.reduce((a, b) => Math.max(a, b));
  const positive = numbers.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), Infinity);
  return scaleOf(smallest, largest, Number.isFinite(positive) ? positive : 0);
}

export function stepsText(span: { first: number; last: number }): string {
  return span.first === span.last ? `step ${span.first}` : `steps ${span.first} to ${span.last}`;
}

export function cellText(map: RankMap, { row, column }: MapPlace): string {
  const rank = map.ranks[row];
  const where = `rank ${rank.rank}, ${stepsText(map.steps[column])}: `;
  if (rank.records[column] === 0) return `${where}no records`;
  const broken = rank.nonfinite[column] > 0 ? `NaN or Inf in ${counted(rank.nonfinite[column], 'record')}; ` : '';
  const distance = rank.distances[column];
  return where + broken + (distance === null ? 'not judged' : `${formatNumber(distance, 3)} from the median`);
}

// The cell that an address names, if the map has it.
export function placeIn(map: RankMap, rank: number | null, step: number | null): MapPlace | null {
  const row = map.ranks.findIndex((one) => one.rank === rank);
  const column = map.steps.findIndex((one) => step !== null && one.first <= step && step <= one.last);
  return row < 0 || column < 0 ? null : { row, column };
}

export function moved(map: RankMap, from: MapPlace | null, down: number, right: number): MapPlace {
  if (!from) return { row: 0, column: 0 };
  const within = (value: number, count: number) => Math.min(Math.max(value, 0), count - 1);
  return { row: within(from.row + down, map.ranks.length), column: within(from.column + right, map.steps.length) };
}
