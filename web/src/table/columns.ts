// The columns of the table: their names, their texts, and how wide they are.

import { formatShape, formatValue, isNonFinite, shortSource } from '../base/format';
import type { RecordRow } from '../base/types';

export interface Column {
  name: string;
  // In rem: the least width, and the part of the room that is left over.
  least: number;
  share: number;
  isNumber: boolean;
  canSort: boolean;
  // How it is shown when no columns are chosen: always, only where the first record has a value, or not at all.
  shown: 'always' | 'measured' | 'chosen';
  text(row: RecordRow): string;
  // Every digit, for what is taken out.
  full(row: RecordRow): string;
}

// The command prints this for a value that was not measured.
const NOT_MEASURED = '-';

function whole(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}

function number(name: string, least: number, shown: Column['shown'] = 'always'): Column {
  const text = (row: RecordRow) => formatValue(row[name]) || NOT_MEASURED;
  return { name, least, share: 0, isNumber: true, canSort: true, shown, text, full: (row) => whole(row[name]) };
}

function text(name: string, least: number, share: number, shown: Column['shown'] = 'always'): Column {
  return {
    name,
    least,
    share,
    isNumber: false,
    canSort: true,
    shown,
    text: (row) => formatValue(row[name]),
    full: (row) => whole(row[name]),
  };
}

function infinities(row: RecordRow): string {
  const [positive, negative] = [row.pos_inf, row.neg_inf];
  return (positive ?? null) === null && (negative ?? null) === null ? '' : String(Number(positive ?? 0) + Number(negative ?? 0));
}

const row = (one: RecordRow) => String(one.record ?? one.row);
// The command prints this word for memory that nothing was written to.
const least = (one: RecordRow) => (one.unwritten ? 'unwritten' : formatValue(one.min) || NOT_MEASURED);

export const COLUMNS: Column[] = [
  { ...number('row', 4.2), canSort: false, text: row, full: row },
  number('step', 3.4),
  text('op', 11, 3),
  text('type', 7, 1),
  text('slot', 3.4, 0),
  number('call', 3.4, 'chosen'),
  number('rank', 3.4, 'chosen'),
  text('module', 9, 1, 'chosen'),
  text('dtype', 5, 0),
  { ...text('shape', 9.8, 1), canSort: false, text: (one) => formatShape(one.shape), full: (one) => formatShape(one.shape) },
  number('numel', 5, 'chosen'),
  number('bytes', 5, 'chosen'),
  { ...number('min', 5.7), text: least, full: (one) => (one.unwritten ? 'unwritten' : whole(one.min)) },
  number('max', 5.7),
  number('mean', 5.7),
  number('std', 5.7),
  number('l2', 5.7, 'chosen'),
  number('absmax', 5.7),
  number('mean_abs', 6.2, 'measured'),
  number('subnormal', 6.8, 'measured'),
  number('zero', 4.4),
  number('nan', 4.4),
  { ...number('inf', 4), canSort: false, text: (one) => infinities(one) || NOT_MEASURED, full: infinities },
  number('duration', 5.6, 'chosen'),
  { ...text('source', 9, 1), canSort: false, text: (one) => (one.source ? shortSource(one.source) : '') },
];

export function chosenColumns(names: string, first: RecordRow | undefined): Column[] {
  const wanted = names.split(',').filter((name) => name !== '');
  if (wanted.length > 0) return COLUMNS.filter((column) => wanted.includes(column.name));
  return COLUMNS.filter((column) => column.shown === 'always' || (column.shown === 'measured' && (first?.[column.name] ?? null) !== null));
}

export function isBad(column: Column, one: RecordRow): boolean {
  if (column.name === 'nan') return Number(one.nan ?? 0) > 0;
  if (column.name === 'inf') return Number(infinities(one)) > 0;
  return column.isNumber && isNonFinite(one[column.name]);
}

const REM_OF_A_DIGIT = 0.58;
const REM_BESIDE = 1.1;

// Wide enough for every digit of these rows; never narrower than `before`, so that nothing moves back and forth.
export function widthsFor(columns: Column[], rows: RecordRow[], before: Map<string, number>): void {
  for (const column of columns) {
    if (!column.isNumber) continue;
    const longest = rows.reduce((most, one) => Math.max(most, column.text(one).length), 0);
    const width = Math.max(column.least, before.get(column.name) ?? 0, longest * REM_OF_A_DIGIT + REM_BESIDE);
    before.set(column.name, width);
  }
}

export function templateOf(columns: Column[], widths: Map<string, number>): { template: string; least: string } {
  const width = (column: Column) => widths.get(column.name) ?? column.least;
  const parts = columns.map((column) => (column.share > 0 ? `minmax(${column.least}rem, ${column.share}fr)` : `${width(column)}rem`));
  return { template: parts.join(' '), least: `${columns.reduce((sum, column) => sum + width(column), 0)}rem` };
}
