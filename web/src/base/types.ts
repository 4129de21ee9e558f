// What the server answers; docs/web_api.md describes each member. Numbers that JSON does not have are the words of `NotFinite`.

export type NotFinite = 'nan' | 'inf' | '-inf';
export type Value = number | NotFinite | null;
export type Which = 'a' | 'b';

export interface List<Item> {
  from: number;
  limit: number;
  total: number;
  items: Item[];
}

export interface Sentence {
  kind: string;
  text: string;
  link: string | null;
}

export interface Losses {
  reason: string;
  count: number;
}

export interface DumpInfo {
  name: string;
  layout: string;
  records: number;
  ops: number;
  steps: number[];
  ranks: number[];
  phases: string[];
  has_data: boolean;
  bytes: number;
  coverage: Record<string, unknown> | null;
  losses: Losses[];
  problems: string[];
  program: string | null;
  source: string | null;
  overhead: unknown;
  changed: boolean;
  live: boolean;
}

export interface CompareState {
  state: 'running' | 'ready' | 'failed';
  done: number;
  all: number;
  stage: string;
  error: string | null;
  summary: CompareSummary | null;
}

export interface CompareSummary {
  values_a: number;
  values_b: number;
  paired: number;
  records: number;
  // Of records of values that ops made, and of weights and inputs.
  verdicts: Record<string, number>;
  given: Record<string, number>;
  largest_error: Value;
  [more: string]: unknown;
}

export interface DumpAnswer {
  version: string;
  // false: the records are still being read for the sentences about them.
  complete: boolean;
  dumps: DumpInfo[];
  compare: CompareState | null;
  sentences: Sentence[];
  report?: { made: string; cut: string | null; sources?: string[] };
  // Only for a job, whose `dumps` is empty.
  job?: { name: string; dumps: number };
}

export interface RankSentence {
  text: string;
  link: string | null;
}

export interface RankAnswer extends RankSentence {
  question: string;
  wrong: boolean;
  examples: RankSentence[];
}

export interface RankMap {
  steps: { first: number; last: number }[];
  ranks: { rank: number; distances: (number | null)[]; nonfinite: number[]; records: number[] }[];
}

export interface RanksReport {
  ranks: { rank: number; records: number; notes: string[] }[];
  apart: { pair: { apart: boolean } | null; usual: Value; ranks: { rank: number }[]; distances: { rank: number; distance: Value }[] };
  progress: { rank: number; steps: number; first: number | null; last: number | null; behind: number }[];
  coverage: { rank: number; lost: number | null }[];
  map: RankMap;
}

export interface RanksAnswer {
  state: 'running' | 'ready' | 'failed';
  done: number;
  all: number;
  error: string | null;
  report: RanksReport | null;
  summary: string | null;
  answers: RankAnswer[];
  troubles: string[];
  dumps: { number: number; name: string; ranks: number[]; part: string; role: string | null }[];
  // For a job without ranks: what was found in each process; `report` is then null.
  parts: JobPart[];
}

export interface JobPart {
  number: number;
  part: string;
  role: string | null;
  finds: boolean;
  incomplete: boolean;
  records: number | null;
  text: string;
  link: string;
}

export interface RecordRow {
  row: number;
  record?: number;
  op_id: number;
  step: number;
  call: number;
  rank: number;
  phase: string;
  op: string;
  type: string;
  slot: string;
  dtype: string;
  shape: number[];
  numel: number;
  source: string | null;
  module?: string | null;
  [statistic: string]: unknown;
}

export interface SourceLines {
  file: string;
  line: number;
  first: number;
  lines: string[];
}

// record, shape and dtype are null where the tensor was not captured.
export interface SlotLink {
  record: number | null;
  slot: string;
  name: string;
  shape: number[] | null;
  dtype: string | null;
}

export interface Reader {
  record: number | null;
  op_id: number | null;
  op: string;
  type: string;
}

export interface RecordAnswer extends RecordRow {
  inputs: SlotLink[];
  outputs: SlotLink[];
  consumers: Reader[];
  source_lines: SourceLines | null;
  originals: { name: string; type: string }[];
  has_data: boolean;
  pair: number | null;
}

export interface OpAnswer {
  op_id: number;
  name: string;
  type: string;
  module: string | null;
  phase: string | null;
  source: string | null;
  source_lines: SourceLines | null;
  captured: boolean;
  reason: string;
  forward: { op: string; module: string | null; source: string | null } | null;
  originals: { name: string; type: string }[];
  steps: { first: number; last: number; count: number } | null;
  records: number;
}

export interface Histogram {
  kind: 'exponent' | 'linear';
  edges: Value[];
  counts: number[];
  zero: number;
  nan: number;
  pos_inf: number;
  neg_inf: number;
}

export interface Found {
  index: number[];
  flat: number;
  value: Value;
}

export interface Trend {
  kind: string;
  record: string;
  op: string;
  slot: string;
  step: number;
  since: number;
  measure: string;
  from: Value;
  to: Value;
  source: string | null;
  op_id?: number;
  [more: string]: unknown;
}

export interface Series {
  op_id: number;
  op: string;
  slot: string;
  phase: string;
  rank: number;
  keys: Record<string, Value[]>;
  steps: number[];
  records: number[];
  trends: Trend[];
}

export interface SeriesAnswer {
  series: Series[];
  gaps: number[];
}

export interface Pair {
  pair: number;
  record_a: number;
  record_b: number;
  op_a: number;
  op_b: number;
  a: string;
  b: string;
  verdict: string;
  error: Value;
  tolerance: Value;
  own?: Value;
  birth: Value | string;
  growth: Value;
  max_abs: Value;
  max_ulp: Value;
  cosine: Value;
  shape_a: number[];
  shape_b: number[];
  dtype_a: string;
  dtype_b: string;
  step_a: number;
  step_b: number;
  type_a: string;
  type_b: string;
  compared: number;
  differing: number;
  first_differing: number[] | null;
  ulp_histogram: number[];
  [more: string]: unknown;
}

export interface Flow {
  ops: number[];
  records: number[];
  origin: unknown;
}

export interface SearchHit {
  kind: string;
  name: string;
  op_id: number | null;
  group: string | null;
  fragment: string;
}
