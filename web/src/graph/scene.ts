// Chooses what of the graph is drawn in a frame: what is in the window and large enough to be seen, never more than MOST_MARKS.

import type { EdgeIndex } from './edge_index';
import type { Graph } from './graph_model';
import type { Tiles } from './tiles';

export const MOST_MARKS = 2500;
// An open group or a tile lower than this on the screen is drawn as one box.
export const SMALLEST_OPEN = 160;
// From this scale on the boxes of ops can be read, and nothing is drawn as one box.
const READABLE = 0.5;
const MOST_EDGES_LOOKED_AT = 20000;

export interface View {
  // The point of the graph in the middle of the window, and pixels per unit.
  x: number;
  y: number;
  k: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export function windowOf(view: View, size: Size): Box {
  const across = size.width / 2 / view.k;
  const down = size.height / 2 / view.k;
  return { left: view.x - across, top: view.y - down, right: view.x + across, bottom: view.y + down };
}

function adjacency(graph: Graph): [Uint32Array, Uint32Array] {
  const start = new Uint32Array(graph.nodes + 1);
  for (let edge = 0; edge < graph.edges; edge++) {
    start[graph.edgeFrom[edge] + 1]++;
    start[graph.edgeTo[edge] + 1]++;
  }
  for (let node = 0; node < graph.nodes; node++) start[node + 1] += start[node];
  const next = start.slice();
  const edges = new Uint32Array(2 * graph.edges);
  for (let edge = 0; edge < graph.edges; edge++) {
    edges[next[graph.edgeFrom[edge]]++] = edge;
    edges[next[graph.edgeTo[edge]]++] = edge;
  }
  return [start, edges];
}

export class Scene {
  readonly graph: Graph;
  readonly tiles: Tiles;
  readonly index: EdgeIndex;
  // What to draw, back to front: open groups, then boxes (closed, small, or tiles), then ops, and edges.
  readonly frames: number[] = [];
  readonly boxes: number[] = [];
  readonly ops: number[] = [];
  readonly edges: number[] = [];
  private readonly drawn: Uint32Array;
  private readonly asBox: Uint32Array;
  private readonly adjacentStart: Uint32Array;
  private readonly adjacent: Uint32Array;
  private turn = 0;

  constructor(graph: Graph, tiles: Tiles, index: EdgeIndex) {
    this.graph = graph;
    this.tiles = tiles;
    this.index = index;
    this.drawn = new Uint32Array(tiles.items);
    this.asBox = new Uint32Array(tiles.items);
    [this.adjacentStart, this.adjacent] = adjacency(graph);
  }

  // Edges that begin or end at a node, in no order.
  edgesOf(node: number): Uint32Array {
    return this.adjacent.subarray(this.adjacentStart[node], this.adjacentStart[node + 1]);
  }

  get marks(): number {
    return this.frames.length + this.boxes.length + this.ops.length + this.edges.length;
  }

  choose(view: View, size: Size, interfaceScale: number): void {
    const box = windowOf(view, size);
    let coarse = interfaceScale;
    // Wide windows over many small ops: draw larger parts as one box until the marks suffice, with room for edges.
    while (!this.chooseItems(box, view.k, coarse) && coarse < 1e6) coarse *= 1.6;
    this.chooseEdges(box, view.k);
  }

  private chooseItems(box: Box, k: number, coarse: number): boolean {
    const { tiles, graph } = this;
    this.turn++;
    this.frames.length = this.boxes.length = this.ops.length = this.edges.length = 0;
    const waiting: number[] = [tiles.root];
    const limit = MOST_MARKS * 0.7;
    while (waiting.length > 0) {
      const item = waiting.pop()!;
      if (tiles.right[item] < box.left || tiles.left[item] > box.right) continue;
      if (tiles.bottom[item] < box.top || tiles.top[item] > box.bottom) continue;
      const children = tiles.children[item];
      const isNode = item < graph.nodes;
      if (children && (item === tiles.root || !this.isSmall(item, isNode, k, coarse))) {
        if (isNode) this.put(this.frames, item);
        for (const child of children) waiting.push(child);
      } else if (isNode && !graph.isGroup[item]) {
        this.put(this.ops, item);
      } else if (item !== tiles.root) {
        this.put(this.boxes, item);
        this.asBox[item] = this.turn;
      }
      if (this.marks > limit) return false;
    }
    return true;
  }

  private isSmall(item: number, isNode: boolean, k: number, coarse: number): boolean {
    if (k >= READABLE * coarse) return false;
    const height = (this.tiles.bottom[item] - this.tiles.top[item]) * k;
    if (isNode) return height < SMALLEST_OPEN * coarse;
    return Math.max(height, (this.tiles.right[item] - this.tiles.left[item]) * k) < SMALLEST_OPEN * coarse;
  }

  private put(list: number[], item: number): void {
    list.push(item);
    this.drawn[item] = this.turn;
  }

  // The item that shows a node in this frame: itself or the box around it; -1 when it is outside of the window.
  shownAs(node: number): number {
    for (let item = node; item >= 0; item = this.tiles.parent[item]) {
      if (this.drawn[item] !== this.turn) continue;
      return item === node || this.asBox[item] === this.turn ? item : -1;
    }
    return -1;
  }

  private chooseEdges(box: Box, k: number): void {
    const { graph } = this;
    const room = MOST_MARKS - this.marks;
    const readable = k >= READABLE / 2;
    this.index.visit(box, 3 / k, MOST_EDGES_LOOKED_AT, (edge) => {
      const from = this.shownAs(graph.edgeFrom[edge]);
      const to = this.shownAs(graph.edgeTo[edge]);
      if (from === to && from >= 0) return true;
      if (from < 0 && to < 0 && !readable) return true;
      this.edges.push(edge);
      return this.edges.length < room;
    });
  }
}
