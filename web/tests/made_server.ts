// A server of made answers, for what no small dump has: graphs of 100,000 ops, a million records, hostile names, files that go away.

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { DumpAnswer, RecordRow } from '../src/base/types.ts';
import { binaryGraph, HOSTILE, madeGraph, opName } from './made_graph.ts';

const BUNDLE = join(import.meta.dirname, '../dist');
const KINDS: Record<string, string> = {
  '/': 'text/html',
  '/app.js': 'text/javascript',
  '/app.css': 'text/css',
  '/icon.svg': 'image/svg+xml',
};
export const TOKEN = 'f00d';
export const RECORDS = 1_000_000;
export const BAD_OP = 4321;

class Refused extends Error {}

export class MadeServer {
  ops: number;
  grouped: boolean;
  changed = false;
  isLive = false;
  // Requests that wait until all records have been read; null: requests need not wait.
  private waiting: (() => void)[] | null = null;
  readonly posted: unknown[] = [];
  private readonly server: Server;
  private readonly graphs = new Map<string, ReturnType<typeof madeGraph>>();

  constructor(ops: number, grouped: boolean) {
    this.ops = ops;
    this.grouped = grouped;
    this.server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1');
      response.setHeader('Content-Security-Policy', "default-src 'self'");
      if (KINDS[url.pathname]) {
        response.setHeader('Content-Type', KINDS[url.pathname]);
        response.end(readFileSync(join(BUNDLE, url.pathname === '/' ? 'index.html' : url.pathname)));
      } else if (request.headers.authorization !== `Bearer ${TOKEN}`) {
        response.statusCode = 401;
        response.end(JSON.stringify({ error: 'no token' }));
      } else if (url.pathname === '/api/live/state') {
        const state = { pid: 4711, on: true, steps: { seen: 12, captured: 3 }, overhead: 1.04 };
        response.end(JSON.stringify({ records: RECORDS, state }));
      } else if (request.method === 'POST') {
        let body = '';
        request.on('data', (part: Buffer) => (body += part.toString()));
        request.on('end', () => {
          const asked = JSON.parse(body) as { config?: { where?: string } };
          this.posted.push(asked);
          const isBad = asked.config?.where === 'nonsense';
          response.end(JSON.stringify({ accepted: !isBad, reason: isBad ? 'where: unknown word "nonsense"' : null, from_step: 13 }));
        });
      } else {
        this.answer(url, response);
      }
    });
  }

  // Begins to look through the records; a call of the returned function ends it.
  look(): () => void {
    const waiting: (() => void)[] = [];
    this.waiting = waiting;
    return () => {
      this.waiting = null;
      waiting.forEach((answer) => answer());
    };
  }

  private answer(
    url: URL,
    response: { statusCode: number; setHeader(name: string, value: string): void; end(body: string | Buffer): void },
  ) {
    if (url.pathname === '/api/dump' && url.searchParams.get('wait') !== 'no' && this.waiting) {
      this.waiting.push(() => this.answer(url, response));
      return;
    }
    try {
      const answer = this.find(url.pathname, url.searchParams);
      response.setHeader('Content-Type', Buffer.isBuffer(answer) ? 'application/octet-stream' : 'application/json');
      response.end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
    } catch (problem) {
      response.statusCode = problem instanceof Refused ? 400 : 404;
      response.end(JSON.stringify({ error: (problem as Error).message }));
    }
  }

  private graph() {
    const key = `${this.ops} ${this.grouped}`;
    if (!this.graphs.has(key)) this.graphs.set(key, madeGraph(this.ops, this.grouped));
    return this.graphs.get(key)!;
  }

  private find(path: string, query: URLSearchParams): unknown {
    if (path === '/api/dump') return this.dump();
    if (path === '/api/graph') return this.graph();
    if (path === '/api/graph.bin') return binaryGraph(this.graph());
    if (path === '/api/heat') return this.heat(query.get('by') ?? '');
    if (path === '/api/records') return this.records(query);
    if (path === '/api/search') return this.search(query.get('q') ?? '');
    if (path === '/api/flow') return { ops: [BAD_OP, BAD_OP + 3, BAD_OP + 6, BAD_OP + 9], records: [], origin: null };
    const op = /^\/api\/op\/(\d+)$/.exec(path);
    if (op) return this.op(Number(op[1]));
    throw new Error(`there is no ${path}`);
  }

  private dump(): DumpAnswer {
    const [name, steps] = ['made', [0, 1]];
    const nothing = { coverage: null, losses: [], problems: [], program: null, source: 'made 1.0', overhead: null };
    return {
      version: '0',
      complete: this.waiting === null,
      dumps: [
        {
          ...nothing,
          name,
          steps,
          layout: 'tap',
          records: RECORDS,
          ops: this.ops,
          ranks: [0],
          phases: ['forward'],
          has_data: false,
          bytes: 1e9,
          changed: this.changed,
          live: this.isLive,
        },
      ],
      compare: null,
      sentences: this.waiting ? [] : [{ kind: 'nonfinite', text: `${HOSTILE} made the first NaN.`, link: `#graph?op=${BAD_OP}&flow=1` }],
    };
  }

  private heat(by: string): Buffer {
    const data = Buffer.alloc(16 + 4 * this.ops);
    data.writeUInt32LE(0x54484554, 0);
    data.writeUInt32LE(this.ops, 4);
    data.writeFloatLE(0, 8);
    data.writeFloatLE(5, 12);
    for (let op = 0; op < this.ops; op++)
      data.writeFloatLE(by === 'nonfinite' ? Number(op === BAD_OP) : 5 * Math.sin(op / 40) ** 2, 16 + 4 * op);
    return data;
  }

  private row(record: number): RecordRow {
    const op = record % this.ops;
    const large = Math.floor(record / this.ops);
    return {
      ...{ row: record, record, op_id: op, step: large % 2, call: 0, rank: 0, phase: 'forward', op: opName(op), type: 'Add' },
      ...{ slot: 'out0', dtype: 'float32', shape: [2, 3], numel: 6, source: null },
      ...{ min: -record, max: record, mean: 0.5, std: 1, absmax: record, zero: 0, nan: 0, pos_inf: 0, neg_inf: 0 },
    };
  }

  private records(query: URLSearchParams) {
    const where = query.get('where') ?? '';
    if (where.includes('nonsense')) throw new Refused(`where: unknown word "nonsense"; valid: nan, absmax`);
    const from = Number(query.get('from') ?? 0);
    const limit = Number(query.get('limit') ?? 200);
    const op = query.get('op');
    const total = where === 'nan > 0' ? 0 : op === null ? RECORDS : 2;
    const backwards = query.get('sort') === '-absmax';
    const rows = Array.from({ length: Math.min(limit, Math.max(total - from, 0)) }, (_, i) =>
      this.row(op !== null ? Number(op) + (from + i) * this.ops : backwards ? RECORDS - 1 - from - i : from + i),
    );
    return { from, limit, total, items: rows };
  }

  private search(words: string) {
    const found = Array.from({ length: this.ops }, (_, op) => op).filter((op) => opName(op).includes(words));
    const items = found.slice(0, 50).map((op) => ({ kind: 'op', name: opName(op), op_id: op, group: null, fragment: `#graph?op=${op}` }));
    return { items, total: found.length };
  }

  private op(op: number) {
    const lines = ['def forward(self, x):', '    return x / x.sum()', ''];
    return {
      ...{ op_id: op, name: opName(op), type: 'Add', module: HOSTILE, phase: 'forward', source: 'net.py:2', forward: null, originals: [] },
      source_lines: { file: 'net.py', line: 2, first: 1, lines },
      captured: op % 50 !== 49,
      reason: op % 50 === 49 ? 'its type is not supported' : '',
      records: 2,
    };
  }

  async start(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/?token=${TOKEN}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
