// Where the arrow keys lead: down to what reads an op's outputs, up to what it reads, sideways to the others of the same op.

import type { Scene } from './scene';

export type Direction = 'ArrowUp' | 'ArrowDown' | 'ArrowLeft' | 'ArrowRight';

function middle(scene: Scene, node: number): number {
  return scene.graph.left[node] + scene.graph.width[node] / 2;
}

function ends(scene: Scene, node: number, forward: boolean): number[] {
  const { graph } = scene;
  const found = new Set<number>();
  for (const edge of scene.edgesOf(node)) {
    const [near, far] = forward ? [graph.edgeFrom[edge], graph.edgeTo[edge]] : [graph.edgeTo[edge], graph.edgeFrom[edge]];
    if (near === node && far !== node) found.add(far);
  }
  return [...found].sort((one, other) => middle(scene, one) - middle(scene, other));
}

function nearest(scene: Scene, nodes: number[], x: number): number {
  let best = -1;
  for (const node of nodes) if (best < 0 || Math.abs(middle(scene, node) - x) < Math.abs(middle(scene, best) - x)) best = node;
  return best;
}

// The node that a key leads to from `node`; -1 when there is none.
export function neighbour(scene: Scene, node: number, key: Direction): number {
  if (key === 'ArrowDown' || key === 'ArrowUp') {
    return nearest(scene, ends(scene, node, key === 'ArrowDown'), middle(scene, node));
  }
  const siblings = new Set<number>();
  for (const parent of ends(scene, node, false)) for (const child of ends(scene, parent, true)) siblings.add(child);
  if (siblings.size < 2) {
    for (const child of ends(scene, node, true)) for (const parent of ends(scene, child, false)) siblings.add(parent);
  }
  const sorted = [...siblings].sort((one, other) => middle(scene, one) - middle(scene, other) || one - other);
  const at = sorted.indexOf(node) + (key === 'ArrowRight' ? 1 : -1);
  return at >= 0 && at < sorted.length ? sorted[at] : -1;
}

// The next op after `op`, round to the first, whose value says that it is looked for; -1 when there is none.
export function nextOp(values: Float32Array, op: number, wanted: (value: number) => boolean): number {
  for (let i = 1; i <= values.length; i++) {
    const at = (op + i + values.length) % values.length;
    if (wanted(values[at])) return at;
  }
  return -1;
}
