// Finds the edges that cross a range of y without looking at the others: each edge lies in at most nine buckets of the level that fits
// its height.

import type { Graph } from './graph_model';

const FINEST = 512;
const STEP = 8;
const LEVELS = 6;

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export class EdgeIndex {
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly top: Float32Array;
  readonly bottom: Float32Array;
  private readonly levels: Map<number, number[]>[] = Array.from({ length: LEVELS }, () => new Map<number, number[]>());
  private readonly seen: Uint32Array;
  private turn = 0;

  // The index measures edges of nodes with a number in `folded`, and never visits them.
  constructor(graph: Graph, folded: Uint32Array) {
    this.left = new Float32Array(graph.edges).fill(Infinity);
    this.right = new Float32Array(graph.edges).fill(-Infinity);
    this.top = new Float32Array(graph.edges).fill(Infinity);
    this.bottom = new Float32Array(graph.edges).fill(-Infinity);
    this.seen = new Uint32Array(graph.edges);
    for (let edge = 0; edge < graph.edges; edge++) {
      for (let at = graph.pointStart[edge]; at + 1 < graph.pointStart[edge + 1]; at += 2) {
        const x = graph.points[at];
        const y = graph.points[at + 1];
        if (x < this.left[edge]) this.left[edge] = x;
        if (x > this.right[edge]) this.right[edge] = x;
        if (y < this.top[edge]) this.top[edge] = y;
        if (y > this.bottom[edge]) this.bottom[edge] = y;
      }
      if (this.bottom[edge] >= this.top[edge] && folded[graph.edgeFrom[edge]] === 0) this.put(edge);
    }
  }

  private put(edge: number): void {
    const height = this.bottom[edge] - this.top[edge];
    let level = 0;
    let size = FINEST;
    while (height > size * STEP && level < LEVELS - 1) {
      level++;
      size *= STEP;
    }
    const last = Math.floor(this.bottom[edge] / size);
    for (let bucket = Math.floor(this.top[edge] / size); bucket <= last; bucket++) {
      const edges = this.levels[level].get(bucket);
      if (edges) edges.push(edge);
      else this.levels[level].set(bucket, [edge]);
    }
  }

  crosses(edge: number, box: Box): boolean {
    const isBeside = this.right[edge] < box.left || this.left[edge] > box.right;
    return !isBeside && this.bottom[edge] >= box.top && this.top[edge] <= box.bottom;
  }

  // Calls `visit` for each edge that crosses the rectangle, long ones first, until `most` edges were looked at; false when there are more.
  // Edges shorter than `shortest` do not count.
  visit(box: Box, shortest: number, most: number, visit: (edge: number) => void): boolean {
    this.turn++;
    let looked = 0;
    let size = FINEST * STEP ** (LEVELS - 1);
    for (let level = LEVELS - 1; level >= 0; level--, size /= STEP) {
      if (size * STEP < shortest) return true;
      const last = Math.floor(box.bottom / size);
      for (let bucket = Math.floor(box.top / size); bucket <= last; bucket++) {
        const edges = this.levels[level].get(bucket);
        if (!edges) continue;
        for (const edge of edges) {
          if (this.seen[edge] === this.turn) continue;
          this.seen[edge] = this.turn;
          if (++looked > most) return false;
          if (this.crosses(edge, box)) visit(edge);
        }
      }
    }
    return true;
  }
}
