// A part of a tensor as a picture: which two dimensions are shown, where the others stand, and what came back.

import { ApiError } from '../base/api';

export interface Slice {
  rows: number;
  columns: number;
  // Original rows and columns in a cell of the picture.
  rowsPerCell: number;
  columnsPerCell: number;
  allRows: number;
  allColumns: number;
  values: Float32Array;
}

const MAGIC = 0x534c4943;
const HEADER = 10;

export function sliceFrom(data: ArrayBuffer): Slice {
  if (data.byteLength < 4 * HEADER) throw new ApiError('The values that the server sent are cut off.', 0);
  const words = new Uint32Array(data, 0, HEADER);
  const [magic, rows, columns, rowsPerCell, columnsPerCell, allRows, allColumns] = words;
  if (magic !== MAGIC || data.byteLength < 4 * (HEADER + rows * columns)) {
    throw new ApiError('The values that the server sent are damaged.', 0);
  }
  const values = new Float32Array(data, 4 * HEADER, rows * columns);
  return { rows, columns, rowsPerCell: Math.max(1, rowsPerCell), columnsPerCell: Math.max(1, columnsPerCell), allRows, allColumns, values };
}

// Of each dimension ':' or an index.
export type At = (number | ':')[];

// The last two dimensions, those of one element last of all.
export function defaultAt(shape: number[]): At {
  const wide = shape.flatMap((size, i) => (size > 1 ? [i] : []));
  const narrow = shape.flatMap((size, i) => (size > 1 ? [] : [i]));
  const free = new Set([...narrow, ...wide].slice(-2));
  return shape.map((_, i) => (free.has(i) ? ':' : 0));
}

export function parseAt(text: string | null, shape: number[]): At {
  const parts = text === null || text === '' ? [] : text.split(',');
  if (parts.length !== shape.length) return defaultAt(shape);
  const at: At = parts.map((part, i) => (part === ':' ? ':' : Math.min(Math.max(Math.trunc(Number(part)) || 0, 0), shape[i] - 1)));
  const free = at.filter((part) => part === ':').length;
  return free === Math.min(2, shape.length) ? at : defaultAt(shape);
}

export function formatAt(at: At): string {
  return at.join(',');
}

// The dimensions of the rows and the columns of the picture; -1 when there is none.
export function freeDimensions(at: At): [number, number] {
  const free = at.flatMap((part, i) => (part === ':' ? [i] : []));
  if (free.length === 2) return [free[0], free[1]];
  return [-1, free.length === 1 ? free[0] : -1];
}

// The whole index of a cell's first value.
export function indexOf(at: At, row: number, column: number): number[] {
  const [rows, columns] = freeDimensions(at);
  return at.map((part, i) => (i === rows ? row : i === columns ? column : (part as number)));
}

export interface Window {
  row: number;
  rows: number;
  column: number;
  columns: number;
}

export function wholeWindow(shape: number[], at: At): Window {
  const [rows, columns] = freeDimensions(at);
  return { row: 0, rows: rows < 0 ? 1 : shape[rows], column: 0, columns: columns < 0 ? 1 : shape[columns] };
}

// "0:16,32:48": rows and columns; null for everything.
export function formatZoom(window: Window, whole: Window): string | null {
  if (window.rows >= whole.rows && window.columns >= whole.columns) return null;
  return `${window.row}:${window.row + window.rows},${window.column}:${window.column + window.columns}`;
}

export function parseZoom(text: string | null, whole: Window): Window {
  const found = /^(\d+):(\d+),(\d+):(\d+)$/.exec(text ?? '');
  if (!found) return whole;
  const [row, rowEnd, column, columnEnd] = found.slice(1).map(Number);
  if (row >= rowEnd || column >= columnEnd || rowEnd > whole.rows || columnEnd > whole.columns) return whole;
  return { row, rows: rowEnd - row, column, columns: columnEnd - column };
}

function part(start: number, size: number, centre: number, factor: number, all: number): [number, number] {
  const next = Math.min(Math.max(Math.round(size * factor), Math.min(all, 4)), all);
  const from = Math.round(centre - ((centre - start) / size) * next);
  return [Math.min(Math.max(from, 0), all - next), next];
}

// The window around a point, made smaller or larger; the point stays where it is.
export function zoomed(window: Window, whole: Window, row: number, column: number, factor: number): Window {
  const [newRow, rows] = part(window.row, window.rows, row, factor, whole.rows);
  const [newColumn, columns] = part(window.column, window.columns, column, factor, whole.columns);
  return { row: newRow, rows, column: newColumn, columns };
}

export function around(whole: Window, row: number, column: number): Window {
  const rows = Math.min(whole.rows, 16);
  const columns = Math.min(whole.columns, 16);
  const from = (at: number, size: number, all: number) => Math.min(Math.max(at - (size >> 1), 0), all - size);
  return { row: from(row, rows, whole.rows), rows, column: from(column, columns, whole.columns), columns };
}

export function moved(window: Window, whole: Window, rows: number, columns: number): Window {
  return {
    ...window,
    row: Math.min(Math.max(window.row + rows, 0), whole.rows - window.rows),
    column: Math.min(Math.max(window.column + columns, 0), whole.columns - window.columns),
  };
}
