// A report is this page with answers in it. It makes an answer that it does not contain from those that it contains.

import { withoutFloats, isFloat } from './floats';
import { parseExactly } from './exactly';
import type { List, Pair, RecordRow, SearchHit, SeriesAnswer } from './types';

export const NON_FINITE = 'nan > 0 or pos_inf > 0 or neg_inf > 0';

// The same request has the same key, however its parameters are ordered; defaults are left out.
export function keyOf(path: string, without: readonly string[] = []): string {
  const [address, query = ''] = path.split('?');
  const parameters = [...new URLSearchParams(query)].filter(
    ([name, value]) =>
      value !== '' && !(name === 'dump' && value === 'a') && !(name === 'from' && value === '0') && !without.includes(name),
  );
  parameters.sort((one, other) => (one.join('=') < other.join('=') ? -1 : 1));
  return address + '?' + new URLSearchParams(parameters).toString();
}

// One answer keeps all of these of a series.
const SERIES_KEYS = 'absmax,l2,mean,std,min,max,zero,nan';
const MOST_HITS = 50;

interface PairTable {
  [pair: string]: Pair;
}

interface GraphNode {
  op: number | null;
  name: string;
  path: string;
  type: string;
}

export class Report {
  private readonly answers: Map<string, unknown>;

  constructor(text: string) {
    this.answers = new Map(Object.entries(parseExactly(text) as object).map(([path, answer]) => [keyOf(path), answer]));
  }

  // undefined: not part of the report.
  answer(path: string): unknown {
    const [address, query = ''] = path.split('?');
    if (address === '/api/pairs') return this.pairs(path);
    const exact = this.answers.get(keyOf(path));
    if (exact !== undefined) return exact;
    const asked = new URLSearchParams(query);
    const dump = `dump=${asked.get('dump') ?? 'a'}`;
    if (address === '/api/graph') return this.graph(dump);
    if (address === '/api/series') return this.series(asked, dump);
    if (address === '/api/search') return this.search(asked, dump);
    const list = this.answers.get(keyOf(path, ['from', 'limit']));
    if (isList(list)) return cutTo(list.items, asked);
    const whole = this.answers.get(keyOf(`${address}?${dump}`));
    return address === '/api/records' && isList(whole) ? chosen(whole.items as RecordRow[], asked) : undefined;
  }

  private graph(dump: string): unknown {
    const [all, first] = ['all', 'auto'].map((open) => this.answers.get(keyOf(`/api/graph?open=${open}&${dump}`)));
    return all ?? first;
  }

  // Lists of pairs are numbers, and there is one table of what has a number.
  private pairs(path: string): unknown {
    const list = this.answers.get(keyOf(path, ['from', 'limit'])) as { pairs: number[] } | undefined;
    const table = this.answers.get(keyOf('/api/pairs/table')) as PairTable | undefined;
    const asked = new URLSearchParams(path.split('?')[1]);
    if (table && asked.has('op')) return cutTo(pairsOfOp(Object.values(table), asked), asked);
    if (!list || !table) return undefined;
    const part = cutTo(list.pairs, asked);
    return { ...part, items: part.items.map((pair) => table[String(pair)]) };
  }

  private series(asked: URLSearchParams, dump: string): unknown {
    const answer = this.answers.get(keyOf(`/api/series?op=${asked.get('op') ?? ''}&key=${SERIES_KEYS}&${dump}`)) as
      SeriesAnswer | undefined;
    const slot = asked.get('slot') ?? '';
    return answer && { ...answer, series: answer.series.filter((one) => slot === '' || one.slot === slot) };
  }

  // Ops by name, module, type or line of source, as far as the graph and the table of the report know them.
  private search(asked: URLSearchParams, dump: string): unknown {
    const wanted = (asked.get('q') ?? '').toLowerCase();
    const of = dump === 'dump=b' ? '&dump=b' : '';
    if (asked.get('kind') === 'type') return this.types(wanted, dump);
    const hits = new Map<number, SearchHit>();
    const add = (op: number | null, name: string, ...texts: unknown[]) => {
      if (op === null || hits.has(op)) return;
      if (![name, ...texts].some((text) => typeof text === 'string' && text.toLowerCase().includes(wanted))) return;
      hits.set(op, { kind: 'op', name, op_id: op, group: null, fragment: `#graph?op=${op}${of}` });
    };
    const graph = this.graph(dump) as { nodes: GraphNode[] } | undefined;
    if (wanted === '' && !asked.has('kind')) return { total: 0, items: [] };
    graph?.nodes.forEach((node) => add(node.op, node.path || node.name, node.type));
    const records = this.answers.get(keyOf(`/api/records?${dump}`));
    if (isList(records)) (records.items as RecordRow[]).forEach((row) => add(row.op_id, row.op, row.type, row.source, row.module));
    const found = [...hits.values()];
    return { total: found.length, items: found.slice(0, MOST_HITS) };
  }

  private types(wanted: string, dump: string): unknown {
    const graph = this.graph(dump) as { nodes: GraphNode[] } | undefined;
    const types = new Set(graph?.nodes.filter((node) => node.op !== null).map((node) => node.type));
    const found = [...types].filter((type) => type !== '' && type.toLowerCase().includes(wanted));
    const items = found.map((name) => ({ kind: 'type', name, op_id: null, group: null, fragment: `#table?type=${name}` }));
    return { total: items.length, items: items.slice(0, MOST_HITS) };
  }
}

// As far as the table of the report knows them.
function pairsOfOp(pairs: Pair[], asked: URLSearchParams): Pair[] {
  const isB = asked.get('dump') === 'b';
  const [op, step] = [Number(asked.get('op')), Number(asked.get('step'))];
  return pairs.filter((pair) => (isB ? pair.op_b === op && pair.step_b === step : pair.op_a === op && pair.step_a === step));
}

interface AnyList {
  items: unknown[];
}

function isList(value: unknown): value is AnyList {
  return typeof value === 'object' && value !== null && Array.isArray((value as Partial<AnyList>).items);
}

function cutTo<Item>(items: Item[], asked: URLSearchParams): List<Item> {
  const from = Number(asked.get('from') ?? 0);
  const limit = Number(asked.get('limit') ?? items.length);
  return { from, limit, total: items.length, items: items.slice(from, from + limit) };
}

function nonFinite(row: RecordRow): number {
  return Number(row.nan ?? 0) + Number(row.pos_inf ?? 0) + Number(row.neg_inf ?? 0);
}

// Steps such as 0,3-5 or 10-.
function inSteps(step: number, text: string): boolean {
  return text.split(',').some((part) => {
    const [from, to] = part.split('-');
    if (to === undefined) return Number(from) === step;
    return step >= Number(from) && (to === '' || step <= Number(to));
  });
}

function isChosen(row: RecordRow, asked: URLSearchParams): boolean {
  const [op, step, type, slot] = ['op', 'step', 'type', 'slot'].map((name) => asked.get(name) ?? '');
  if (/^\d+$/.test(op) ? row.op_id !== Number(op) : op !== '' && !named(row.op, op)) return false;
  if (step !== '' && !inSteps(row.step, step)) return false;
  if (type !== '' && !type.split(',').includes(row.type)) return false;
  if (slot !== '' && !slot.split(',').some((one) => row.slot === one || row.slot.replace(/\d+$/, '') === one)) return false;
  const where = asked.get('where') ?? '';
  const rest = withoutFloats(where);
  if (rest !== null && !isFloat(row.dtype)) return false;
  return (rest ?? where) !== NON_FINITE || nonFinite(row) > 0;
}

function named(name: string, pattern: string): boolean {
  if (name === pattern) return true;
  try {
    return new RegExp(pattern).test(name);
  } catch {
    return false;
  }
}

function order(value: unknown): number {
  return value === 'inf' ? Infinity : value === '-inf' ? -Infinity : typeof value === 'number' ? value : NaN;
}

function chosen(rows: RecordRow[], asked: URLSearchParams): unknown {
  const where = withoutFloats(asked.get('where') ?? '') ?? asked.get('where') ?? '';
  if (where !== '' && where !== NON_FINITE) return undefined;
  const found = rows.filter((row) => isChosen(row, asked));
  const sort = asked.get('sort') ?? '';
  const key = sort.replace(/^-/, '');
  const sign = sort.startsWith('-') ? -1 : 1;
  const value = (row: RecordRow) => (key === 'nonfinite' ? nonFinite(row) : row[key]);
  const compare = (one: RecordRow, other: RecordRow) => {
    const [a, b] = [value(one), value(other)];
    if (typeof a === 'string' && Number.isNaN(order(a)) && typeof b === 'string') return sign * (a < b ? -1 : a > b ? 1 : 0);
    const [x, y] = [order(a), order(b)];
    // Values that are NaN or not measured come last in both orders.
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    return x === y ? 0 : sign * (x - y);
  };
  if (key !== '') found.sort(compare);
  return cutTo(found, asked);
}
