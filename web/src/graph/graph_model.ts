// The laid-out graph as arrays, from the two forms in which the server sends it.

import { ApiError } from '../base/api';

export const NO_OP = 0xffffffff;

export interface Graph {
  nodes: number;
  // Corners, not centres.
  left: Float32Array;
  top: Float32Array;
  width: Float32Array;
  height: Float32Array;
  op: Uint32Array;
  parent: Int32Array;
  opsInside: Uint32Array;
  isGroup: Uint8Array;
  isOpen: Uint8Array;
  isCaptured: Uint8Array;
  name(node: number): string;
  type(node: number): string;
  // The id under which a group is opened and closed; '' for ops.
  groupId(node: number): string;
  edges: number;
  edgeFrom: Uint32Array;
  edgeTo: Uint32Array;
  // The points of edge e are points[pointStart[e]] to points[pointStart[e + 1] - 1], x and y in turn.
  pointStart: Uint32Array;
  points: Float32Array;
  // The node that shows an op: itself, or the closed group around it; -1 when unknown.
  shown(op: number): number;
}

interface JsonNode {
  id: string;
  kind: 'group' | 'op';
  op: number | null;
  name: string;
  path: string;
  type: string;
  x: number;
  y: number;
  w: number;
  h: number;
  parent: number;
  ops: number;
  captured: boolean;
  open?: boolean;
}

export interface JsonGraph {
  nodes: JsonNode[];
  edges: { from: number; to: number; points: number[]; values: number }[];
  width: number;
  height: number;
  open: string[];
  shown?: number[];
}

function arraysFor(nodes: number) {
  return {
    nodes,
    left: new Float32Array(nodes),
    top: new Float32Array(nodes),
    width: new Float32Array(nodes),
    height: new Float32Array(nodes),
    op: new Uint32Array(nodes).fill(NO_OP),
    parent: new Int32Array(nodes).fill(-1),
    opsInside: new Uint32Array(nodes),
    isGroup: new Uint8Array(nodes),
    isOpen: new Uint8Array(nodes),
    isCaptured: new Uint8Array(nodes),
  };
}

// A parent that does not exist, or a ring of parents, would send the drawing round for ever.
function checkParents(parent: Int32Array): void {
  const safe = new Uint8Array(parent.length);
  const path: number[] = [];
  for (let node = 0; node < parent.length; node++) {
    let at = node;
    for (; at >= 0 && !safe[at]; at = parent[at]) {
      if (parent[at] >= parent.length || path.length > parent.length) throw new ApiError('The graph that the server sent is damaged.', 0);
      path.push(at);
    }
    for (const passed of path) safe[passed] = 1;
    path.length = 0;
  }
}

function shownBy(graph: { op: Uint32Array }, table: ArrayLike<number> | undefined): (op: number) => number {
  if (table) return (op) => (op >= 0 && op < table.length && table[op] < graph.op.length ? table[op] : -1);
  const nodes = new Map<number, number>();
  graph.op.forEach((op, node) => op !== NO_OP && nodes.set(op, node));
  return (op) => nodes.get(op) ?? -1;
}

export function graphFromJson(json: JsonGraph): Graph {
  const arrays = arraysFor(json.nodes.length);
  const open = new Set(json.open);
  json.nodes.forEach((node, i) => {
    arrays.left[i] = node.x - node.w / 2;
    arrays.top[i] = node.y - node.h / 2;
    arrays.width[i] = node.w;
    arrays.height[i] = node.h;
    arrays.op[i] = node.op ?? NO_OP;
    arrays.parent[i] = node.parent;
    arrays.opsInside[i] = node.ops;
    arrays.isGroup[i] = node.kind === 'group' ? 1 : 0;
    arrays.isOpen[i] = node.open || open.has(node.id) ? 1 : 0;
    arrays.isCaptured[i] = node.captured ? 1 : 0;
  });
  checkParents(arrays.parent);
  const pointStart = new Uint32Array(json.edges.length + 1);
  json.edges.forEach((edge, i) => (pointStart[i + 1] = pointStart[i] + edge.points.length));
  const points = new Float32Array(pointStart[json.edges.length]);
  json.edges.forEach((edge, i) => points.set(edge.points, pointStart[i]));
  return {
    ...arrays,
    name: (node) => json.nodes[node].name,
    type: (node) => json.nodes[node].type,
    groupId: (node) => (json.nodes[node].kind === 'group' ? json.nodes[node].id : ''),
    edges: json.edges.length,
    edgeFrom: Uint32Array.from(json.edges, (edge) => edge.from),
    edgeTo: Uint32Array.from(json.edges, (edge) => edge.to),
    pointStart,
    points,
    shown: shownBy(arrays, json.shown),
  };
}

// Reads the binary form front to back.
class Reader {
  private at = 0;
  private readonly data: ArrayBuffer;

  constructor(data: ArrayBuffer) {
    this.data = data;
  }

  private bytes(size: number): ArrayBuffer {
    if (this.at + size > this.data.byteLength) throw new ApiError('The graph that the server sent is cut off.', 0);
    this.at += size;
    return this.data.slice(this.at - size, this.at);
  }

  words(count: number): Uint32Array<ArrayBuffer> {
    return new Uint32Array(this.bytes(count * 4));
  }

  integers(count: number): Int32Array<ArrayBuffer> {
    return new Int32Array(this.bytes(count * 4));
  }

  floats(count: number): Float32Array {
    return new Float32Array(this.bytes(count * 4));
  }

  text(count: number): Uint8Array {
    return new Uint8Array(this.bytes(count));
  }

  get left(): number {
    return this.data.byteLength - this.at;
  }
}

const MAGIC = 0x47505454;

export function graphFromBinary(data: ArrayBuffer): Graph {
  const reader = new Reader(data);
  const [magic, version, nodes, edges, floats, letters] = reader.words(8);
  if (magic !== MAGIC || version !== 1) throw new ApiError('The graph that the server sent has an unknown form.', 0);
  const arrays = arraysFor(nodes);
  const boxes = reader.floats(nodes * 4);
  arrays.op = reader.words(nodes);
  arrays.parent = reader.integers(nodes);
  arrays.opsInside = reader.words(nodes);
  const flags = reader.words(nodes);
  for (let i = 0; i < nodes; i++) {
    arrays.width[i] = boxes[4 * i + 2];
    arrays.height[i] = boxes[4 * i + 3];
    arrays.left[i] = boxes[4 * i] - arrays.width[i] / 2;
    arrays.top[i] = boxes[4 * i + 1] - arrays.height[i] / 2;
    arrays.isGroup[i] = flags[i] & 1;
    arrays.isCaptured[i] = (flags[i] >> 1) & 1;
    arrays.isOpen[i] = (flags[i] >> 2) & 1;
  }
  checkParents(arrays.parent);
  const nameOffset = reader.words(nodes);
  const nameLength = reader.words(nodes);
  const edgeWords = reader.words(edges * 4);
  const points = reader.floats(floats);
  const strings = reader.text(letters);
  const types = reader.words(nodes * 2);
  const shown = reader.left >= 4 ? reader.words(reader.words(1)[0]) : undefined;
  const decoder = new TextDecoder();
  const text = (offset: number, length: number) => decoder.decode(strings.subarray(offset, offset + length));
  const label = (node: number) => text(nameOffset[node], nameLength[node]).split('\0');
  return {
    ...arrays,
    name: (node) => label(node)[0],
    type: (node) => text(types[2 * node], types[2 * node + 1]),
    groupId: (node) => (arrays.isGroup[node] ? (label(node)[1] ?? '') : ''),
    edges,
    ...edgesFrom(edgeWords, points, nodes),
    shown: shownBy(arrays, shown),
  };
}

function edgesFrom(words: Uint32Array, points: Float32Array, nodes: number) {
  const edges = words.length / 4;
  const edgeFrom = new Uint32Array(edges);
  const edgeTo = new Uint32Array(edges);
  const pointStart = new Uint32Array(edges + 1);
  for (let i = 0; i < edges; i++) {
    edgeFrom[i] = words[4 * i];
    edgeTo[i] = words[4 * i + 1];
    pointStart[i] = words[4 * i + 2];
    pointStart[i + 1] = words[4 * i + 2] + words[4 * i + 3];
    if (edgeFrom[i] >= nodes || edgeTo[i] >= nodes || pointStart[i + 1] > points.length) {
      throw new ApiError('The graph that the server sent is damaged.', 0);
    }
  }
  return { edgeFrom, edgeTo, pointStart, points };
}
