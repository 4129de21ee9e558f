// The lines between two ops on the way of a value.

import type { Scene } from './scene';

const MOST_EDGES_BETWEEN = 4;
const MOST_NODES_LOOKED_AT = 200;

// The shortest way from one node to another along few lines: ops that only hand a value on are not on its way. Empty when there is none.
export function edgesBetween(scene: Scene, from: number, to: number): number[] {
  const { graph } = scene;
  const cameBy = new Map<number, number>([[from, -1]]);
  let nodes = [from];
  for (let length = 0; length < MOST_EDGES_BETWEEN && nodes.length > 0 && cameBy.size < MOST_NODES_LOOKED_AT; length++) {
    const next: number[] = [];
    for (const node of nodes) {
      for (const edge of scene.edgesOf(node)) {
        const reader = graph.edgeTo[edge];
        if (graph.edgeFrom[edge] !== node || cameBy.has(reader)) continue;
        cameBy.set(reader, edge);
        if (reader === to) return edgesBackFrom(scene, to, cameBy);
        next.push(reader);
      }
    }
    nodes = next;
  }
  return [];
}

function edgesBackFrom(scene: Scene, node: number, cameBy: Map<number, number>): number[] {
  const edges: number[] = [];
  for (let edge = cameBy.get(node)!; edge >= 0; edge = cameBy.get(scene.graph.edgeFrom[edge])!) edges.push(edge);
  return edges;
}
