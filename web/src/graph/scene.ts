// Chooses what of the graph is drawn in a frame: what is in the window and large enough to be seen, never more than MOST_MARKS.

import { EdgeIndex } from './edge_index';
import { familyOf } from './families';
import type { Graph } from './graph_model';
import type { Tiles } from './tiles';

export const MOST_MARKS = 2500;
// An open group or a tile lower than this on the screen is drawn as one box.
export const SMALLEST_OPEN = 160;
// From this scale on the boxes of ops can be read, and nothing is drawn as one box.
const READABLE = 0.5;
const MOST_EDGES_LOOKED_AT = 20000;
const FOLDED_FROM = 32;
const MOST_NODES_FOR_FAMILIES = 20000;

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

// Constants that very many ops read: their lines would hide all others. How many read them, by node; 0: the lines are drawn.
export function foldedReaders(graph: Graph): Uint32Array {
  const readers = new Uint32Array(graph.nodes);
  const isMade = new Uint8Array(graph.nodes);
  for (let edge = 0; edge < graph.edges; edge++) {
    readers[graph.edgeFrom[edge]]++;
    isMade[graph.edgeTo[edge]] = 1;
  }
  return readers.map((count, node) => (count >= FOLDED_FROM && !isMade[node] && !graph.isGroup[node] ? count : 0));
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
  // How many lines of the graph each edge replaces; and how many of the first edges belong to the selected node.
  readonly bundled: number[] = [];
  selectedEdges = 0;
  // Edges that would be seen and are not drawn; when `more`, at least so many.
  leftOut = 0;
  more = false;
  readonly folded: Uint32Array;
  readonly foldedNodes: number;
  private readonly bundles = new Map<number, number>();
  // 1 + the number of the family; 0: not asked for yet.
  private readonly families: Uint8Array;
  private readonly drawn: Uint32Array;
  private readonly asBox: Uint32Array;
  private readonly adjacentStart: Uint32Array;
  private readonly adjacent: Uint32Array;
  private turn = 0;

  constructor(graph: Graph, tiles: Tiles) {
    this.graph = graph;
    this.tiles = tiles;
    this.folded = foldedReaders(graph);
    this.foldedNodes = this.folded.reduce((count, readers) => count + Number(readers > 0), 0);
    this.index = new EdgeIndex(graph, this.folded);
    this.families = new Uint8Array(graph.nodes);
    this.drawn = new Uint32Array(tiles.items);
    this.asBox = new Uint32Array(tiles.items);
    [this.adjacentStart, this.adjacent] = adjacency(graph);
  }

  // Edges that begin or end at a node, in no order.
  edgesOf(node: number): Uint32Array {
    return this.adjacent.subarray(this.adjacentStart[node], this.adjacentStart[node + 1]);
  }

  familyOf(node: number): number {
    if (this.families[node] === 0) this.families[node] = 1 + familyOf(this.graph.type(node));
    return this.families[node] - 1;
  }

  // The uppermost group of ops, which follow what prepares their values; the whole where there is none.
  firstModule(): number {
    const { graph, tiles } = this;
    let first = tiles.root;
    for (let node = 0; node < graph.nodes; node++) {
      if (graph.parent[node] >= 0 || !graph.isGroup[node]) continue;
      if (first === tiles.root || graph.top[node] < graph.top[first]) first = node;
    }
    return first;
  }

  // The families of the graph's ops; of a very large one of the first of them.
  familiesShown(): number[] {
    const { graph } = this;
    const found = new Set<number>();
    const last = Math.min(graph.nodes, MOST_NODES_FOR_FAMILIES);
    for (let node = 0; node < last; node++) if (!graph.isGroup[node]) found.add(this.familyOf(node));
    return [...found].sort((one, other) => one - other);
  }

  // Items that are of the type, or hide an op of it.
  itemsOf(type: string, ops: readonly number[]): Uint8Array {
    const { graph, tiles } = this;
    const found = new Uint8Array(tiles.items);
    for (const op of ops) if (graph.shown(op) >= 0) found[graph.shown(op)] = 1;
    if (ops.length === 0) for (let node = 0; node < graph.nodes; node++) if (graph.type(node) === type) found[node] = 1;
    for (let i = tiles.items - 1; i > 0; i--) if (found[tiles.order[i]]) found[tiles.parent[tiles.order[i]]] = 1;
    return found;
  }

  get marks(): number {
    return this.frames.length + this.boxes.length + this.ops.length + this.edges.length;
  }

  choose(view: View, size: Size, interfaceScale: number, selected: number): void {
    const box = windowOf(view, size);
    let coarse = interfaceScale;
    // Wide windows over many small ops: draw larger parts as one box until the marks suffice, with room for edges.
    while (!this.chooseItems(box, view.k, coarse) && coarse < 1e6) coarse *= 1.6;
    this.chooseEdges(box, view.k, selected);
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

  // The edges of the selected node come first, then those with both ends in the window, then with one, then those that only pass.
  private chooseEdges(box: Box, k: number, selected: number): void {
    const { graph, bundles } = this;
    const room = MOST_MARKS - this.marks;
    this.bundled.length = this.leftOut = 0;
    bundles.clear();
    const later: number[][] = [[], []];
    const isReadable = k >= READABLE / 2;
    const isSelectedOpen = selected >= 0 && graph.isOpen[selected] === 1;
    if (selected >= 0 && !isSelectedOpen) {
      for (const edge of this.edgesOf(selected)) if (this.index.crosses(edge, box)) this.putEdge(edge, room);
    }
    this.selectedEdges = this.edges.length;
    this.more = !this.index.visit(box, 3 / k, MOST_EDGES_LOOKED_AT, (edge) => {
      const outside = Number(this.shownAs(graph.edgeFrom[edge]) < 0) + Number(this.shownAs(graph.edgeTo[edge]) < 0);
      if (outside === 0) this.putEdge(edge, room);
      else if (outside === 1 || isReadable) later[outside - 1].push(edge);
    });
    for (const edges of later) for (const edge of edges) this.putEdge(edge, room);
  }

  // Lines between the same two things are one line.
  private putEdge(edge: number, room: number): void {
    const { graph, tiles } = this;
    const from = this.shownAs(graph.edgeFrom[edge]);
    const to = this.shownAs(graph.edgeTo[edge]);
    if (from === to && from >= 0) return;
    const key = (from < 0 ? graph.edgeFrom[edge] : from) * tiles.items + (to < 0 ? graph.edgeTo[edge] : to);
    const at = this.bundles.get(key);
    if (at !== undefined) {
      this.bundled[at]++;
    } else if (this.edges.length >= room) {
      this.leftOut++;
    } else {
      this.bundles.set(key, this.edges.length);
      this.edges.push(edge);
      this.bundled.push(1);
    }
  }
}
