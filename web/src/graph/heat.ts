// The numbers that colour the graph: one for each op, then of each group and tile the largest inside.

import { ApiError } from '../base/api';
import { cutScale, scaleOf, shareOf, type Scale } from '../base/colours';
import type { Graph } from './graph_model';
import { NO_OP } from './graph_model';
import type { Tiles } from './tiles';

export const HEAT_KEYS: Record<string, string> = {
  nonfinite: 'NaN and Inf',
  absmax: 'largest absolute value',
  l2: 'L2 norm',
  std: 'standard deviation',
  mean: 'mean',
  zero: 'share of zeros',
  headroom: 'headroom',
};
export const PAIR_KEYS: Record<string, string> = {
  error: 'error against B',
  own: "an op's own error",
};

export interface Heat {
  by: string;
  values: Float32Array;
  scale: Scale;
}

const MAGIC = 0x54484554;

export function heatFrom(data: ArrayBuffer, by: string): Heat {
  const words = new Uint32Array(data, 0, 4);
  const numbers = new Float32Array(data, 0, 4);
  const count = words[1];
  if (words[0] !== MAGIC || data.byteLength < 16 + 4 * count) throw new ApiError('The colours that the server sent are damaged.', 0);
  const values = new Float32Array(data, 16, count);
  let smallestPositive = Infinity;
  for (const value of values) if (value > 0 && value < smallestPositive) smallestPositive = value;
  return { by, values, scale: cutScale(scaleOf(numbers[2], numbers[3], smallestPositive), values, 0.05) };
}

// Of each item: the share of the scale (-1: nothing measured), and whether something in it is not finite or was not captured.
export interface ItemHeat {
  share: Float32Array;
  isBad: Uint8Array;
  isMissing: Uint8Array;
}

function isBad(heat: Heat, value: number): boolean {
  return heat.by === 'nonfinite' ? value > 0 : value === Infinity || value === -Infinity;
}

export function itemHeat(graph: Graph, tiles: Tiles, heat: Heat | null, bad: Heat | null): ItemHeat {
  const result: ItemHeat = {
    share: new Float32Array(tiles.items).fill(-1),
    isBad: new Uint8Array(tiles.items),
    isMissing: new Uint8Array(tiles.items),
  };
  const ops = Math.max(heat?.values.length ?? 0, bad?.values.length ?? 0);
  for (let op = 0; op < ops; op++) {
    const node = graph.shown(op);
    if (node < 0) continue;
    if (heat && op < heat.values.length && heat.by !== 'nonfinite') addValue(result, node, heat, heat.values[op]);
    if (bad && op < bad.values.length && isBad(bad, bad.values[op])) result.isBad[node] = 1;
  }
  for (let node = 0; node < graph.nodes; node++) {
    if (!graph.isCaptured[node] && graph.op[node] !== NO_OP) result.isMissing[node] = 1;
  }
  for (let i = tiles.items - 1; i > 0; i--) {
    const item = tiles.order[i];
    const parent = tiles.parent[item];
    if (result.share[item] > result.share[parent]) result.share[parent] = result.share[item];
    if (result.isBad[item]) result.isBad[parent] = 1;
  }
  return result;
}

function addValue(result: ItemHeat, node: number, heat: Heat, value: number): void {
  if (isBad(heat, value)) result.isBad[node] = 1;
  if (!Number.isFinite(value)) return;
  const share = Math.min(Math.max(shareOf(value, heat.scale), 0), 1);
  if (share > result.share[node]) result.share[node] = share;
}
