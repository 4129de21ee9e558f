// Graphs of any size, laid out by rule: blocks of ops one below the other, in groups or all in one.

import type { JsonGraph } from '../src/graph/graph_model.ts';

export const BLOCK = 45;
const ACROSS = 3;
const WIDTH = 170;
const HEIGHT = 40;
const DOWN = HEIGHT + 34;
const GROUP_WIDTH = ACROSS * (WIDTH + 24) + 32;
const GROUP_HEIGHT = (BLOCK / ACROSS) * DOWN + 40;

export const HOSTILE = '<img src=x onerror="window.hurt=1">';

export function opName(op: number): string {
  return op % 1000 === 7 ? HOSTILE : `op_${op}`;
}

// Blocks lie in columns, as parallel branches do, so that a window can see very many ops.
function corner(block: number, blocks: number): { left: number; top: number } {
  const down = Math.max(1, Math.ceil(Math.sqrt(blocks / 2)));
  return { left: Math.floor(block / down) * (GROUP_WIDTH + 60), top: (block % down) * (GROUP_HEIGHT + 40) };
}

type Edge = JsonGraph['edges'][number];

function edgesOf(nodes: JsonGraph['nodes'], ids: number[]): Edge[] {
  const edges: Edge[] = [];
  const add = (from: number, to: number) => {
    const [a, b] = [nodes[from], nodes[to]];
    edges.push({ from, to, points: [a.x, a.y + a.h / 2, b.x, b.y - b.h / 2], values: 1 });
  };
  for (let i = ACROSS; i < ids.length; i++) {
    add(ids[i - ACROSS], ids[i]);
    // Some edges that reach far, as residuals do.
    if (i % 9 === 0 && i >= 60) add(ids[i - 60], ids[i]);
  }
  return edges;
}

export function madeGraph(ops: number, grouped: boolean): JsonGraph {
  const nodes: JsonGraph['nodes'] = [];
  const ids: number[] = [];
  const common = { path: '', captured: true, open: false };
  for (let op = 0; op < ops; op++) {
    const block = Math.floor(op / BLOCK);
    const place = op % BLOCK;
    const { left, top } = corner(block, Math.ceil(ops / BLOCK));
    if (grouped && place === 0) {
      nodes.push({
        ...common,
        id: `g:layer ${block}`,
        kind: 'group',
        op: null,
        name: `layer ${block}`,
        type: '',
        x: left + GROUP_WIDTH / 2,
        y: top + GROUP_HEIGHT / 2,
        w: GROUP_WIDTH,
        h: GROUP_HEIGHT,
        parent: -1,
        ops: Math.min(BLOCK, ops - op),
        open: true,
      });
    }
    const parent = grouped ? nodes.length - 1 - place : -1;
    ids.push(nodes.length);
    nodes.push({
      ...common,
      id: `o:${op}`,
      kind: 'op',
      op,
      name: opName(op),
      type: ['MatMul', 'Add', 'Softmax', 'Mul'][op % 4],
      x: left + 16 + WIDTH / 2 + (place % ACROSS) * (WIDTH + 24),
      y: top + 28 + HEIGHT / 2 + Math.floor(place / ACROSS) * DOWN,
      w: WIDTH,
      h: HEIGHT,
      parent,
      ops: 1,
      captured: op % 50 !== 49,
    });
  }
  return { nodes, edges: edgesOf(nodes, ids), width: GROUP_WIDTH, height: nodes[nodes.length - 1].y, open: [], shown: ids };
}

const MAGIC = 0x47505454;

// The binary form that docs/web_api.md describes.
export function binaryGraph(graph: JsonGraph): Buffer {
  const { nodes, edges } = graph;
  const strings: Buffer[] = [];
  let letters = 0;
  const put = (text: string): [number, number] => {
    const bytes = Buffer.from(text);
    strings.push(bytes);
    letters += bytes.length;
    return [letters - bytes.length, bytes.length];
  };
  const names = nodes.map((node) => put(node.kind === 'group' ? `${node.name}\0${node.id}` : node.name));
  const types = nodes.map((node) => put(node.type));
  let floats = 0;
  const ends = edges.flatMap((edge) => {
    floats += edge.points.length;
    return [edge.from, edge.to, floats - edge.points.length, edge.points.length];
  });
  const words = (values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
  const numbers = (values: number[]) => Buffer.from(Float32Array.from(values).buffer);
  const flags = nodes.map((node) => Number(node.kind === 'group') | (Number(node.captured) << 1) | (Number(node.open === true) << 2));
  return Buffer.concat([
    words([MAGIC, 1, nodes.length, edges.length, floats, letters, 0, 0]),
    numbers(nodes.flatMap((node) => [node.x, node.y, node.w, node.h])),
    words(nodes.map((node) => node.op ?? 0xffffffff)),
    Buffer.from(Int32Array.from(nodes, (node) => node.parent).buffer),
    words(nodes.map((node) => node.ops)),
    words(flags),
    words(names.map(([offset]) => offset)),
    words(names.map(([, length]) => length)),
    words(ends),
    numbers(edges.flatMap((edge) => edge.points)),
    ...strings,
    words(types.flat()),
    words([graph.shown!.length, ...graph.shown!]),
  ]);
}
