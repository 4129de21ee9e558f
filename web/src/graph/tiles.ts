// What is drawn as one: the groups of the graph and, where very many nodes lie in one group, tiles made of neighbours. A tree of items: the
// first are the nodes of the graph, the others tiles, the last the root. Whole branches are skipped, or drawn as one box, when small.

import type { Graph } from './graph_model';

const LARGEST_FAMILY = 48;
const TILE = 32;

export interface Tiles {
  items: number;
  root: number;
  left: Float32Array;
  top: Float32Array;
  right: Float32Array;
  bottom: Float32Array;
  parent: Int32Array;
  children: (Uint32Array | null)[];
  // Parents come before their children.
  order: Uint32Array;
}

function familiesOf(graph: Graph): Map<number, number[]> {
  const families = new Map<number, number[]>();
  for (let node = 0; node < graph.nodes; node++) {
    const family = families.get(graph.parent[node]);
    if (family) family.push(node);
    else families.set(graph.parent[node], [node]);
  }
  return families;
}

interface MadeTile {
  children: number[];
}

// Cuts a large family into tiles of neighbours, and these into larger ones, until few are left.
function grouped(family: number[], graph: Graph, made: MadeTile[]): number[] {
  family.sort((one, other) => graph.top[one] - graph.top[other] || graph.left[one] - graph.left[other]);
  let level = family;
  while (level.length > LARGEST_FAMILY) {
    const next: number[] = [];
    for (let i = 0; i < level.length; i += TILE) {
      next.push(graph.nodes + made.length);
      made.push({ children: level.slice(i, i + TILE) });
    }
    level = next;
  }
  return level;
}

export function tilesOf(graph: Graph): Tiles {
  const made: MadeTile[] = [];
  const top: number[][] = [];
  const families = familiesOf(graph);
  for (const [parent, family] of families) top[parent + 1] = grouped(family, graph, made);
  const root = graph.nodes + made.length;
  const items = root + 1;
  const tiles: Tiles = {
    items,
    root,
    left: new Float32Array(items).fill(Infinity),
    top: new Float32Array(items).fill(Infinity),
    right: new Float32Array(items).fill(-Infinity),
    bottom: new Float32Array(items).fill(-Infinity),
    parent: new Int32Array(items).fill(-1),
    children: new Array<Uint32Array | null>(items).fill(null),
    order: new Uint32Array(items),
  };
  for (let node = 0; node < graph.nodes; node++) {
    const inside = top[node + 1];
    if (inside) tiles.children[node] = Uint32Array.from(inside);
  }
  made.forEach((tile, i) => (tiles.children[graph.nodes + i] = Uint32Array.from(tile.children)));
  tiles.children[root] = Uint32Array.from(top[0] ?? []);
  orderItems(tiles);
  measureItems(tiles, graph);
  return tiles;
}

function orderItems(tiles: Tiles): void {
  let written = 0;
  tiles.order[written++] = tiles.root;
  for (let read = 0; read < written; read++) {
    const item = tiles.order[read];
    for (const child of tiles.children[item] ?? []) {
      tiles.parent[child] = item;
      tiles.order[written++] = child;
    }
  }
}

function measureItems(tiles: Tiles, graph: Graph): void {
  for (let i = tiles.items - 1; i >= 0; i--) {
    const item = tiles.order[i];
    if (item < graph.nodes) {
      tiles.left[item] = graph.left[item];
      tiles.top[item] = graph.top[item];
      tiles.right[item] = graph.left[item] + graph.width[item];
      tiles.bottom[item] = graph.top[item] + graph.height[item];
    }
    const parent = tiles.parent[item];
    if (parent < graph.nodes) continue;
    tiles.left[parent] = Math.min(tiles.left[parent], tiles.left[item]);
    tiles.top[parent] = Math.min(tiles.top[parent], tiles.top[item]);
    tiles.right[parent] = Math.max(tiles.right[parent], tiles.right[item]);
    tiles.bottom[parent] = Math.max(tiles.bottom[parent], tiles.bottom[item]);
  }
}
