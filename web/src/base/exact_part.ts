// A part of a tensor with every digit, in its own type: as bytes, and each value as a text.

import { ApiError, getBinary, pathOf, type Parameters } from './api';
import { formatNumber } from './format';

export interface ExactPart {
  // NumPy's name of the type: "<f8".
  descr: string;
  size: number;
  rows: number;
  columns: number;
  bytes: Uint8Array<ArrayBuffer>;
}

const MAGIC = 0x45584143;
const HEADER = 40;

export function exactFrom(data: ArrayBuffer): ExactPart {
  if (data.byteLength < HEADER) throw new ApiError('The values that the server sent are cut off.', 0);
  const [magic, rows, columns, size] = new Uint32Array(data, 0, 4);
  if (magic !== MAGIC || data.byteLength !== HEADER + rows * columns * size) {
    throw new ApiError('The values that the server sent are damaged.', 0);
  }
  const name = new Uint8Array(data, 16, HEADER - 16);
  const descr = String.fromCharCode(...name.subarray(0, name.indexOf(0)));
  return { descr, size, rows, columns, bytes: new Uint8Array(data, HEADER) };
}

// What the server sends in one answer.
const TILE = 512;

export interface Wanted {
  address: string;
  parameters: Parameters;
  at: string;
  row: number;
  rows: number;
  column: number;
  columns: number;
}

export async function readExactly(wanted: Wanted): Promise<ExactPart> {
  const { row, rows, column, columns } = wanted;
  let whole: ExactPart | null = null;
  for (let down = 0; down < rows; down += TILE) {
    for (let across = 0; across < columns; across += TILE) {
      const height = Math.min(TILE, rows - down);
      const width = Math.min(TILE, columns - across);
      const path = pathOf(wanted.address, {
        ...wanted.parameters,
        at: wanted.at,
        rows: `${row + down}:${row + down + height}`,
        cols: `${column + across}:${column + across + width}`,
      });
      const tile = exactFrom(await getBinary(path));
      whole ??= { ...tile, rows, columns, bytes: new Uint8Array(rows * columns * tile.size) };
      if (tile.rows !== height || tile.columns !== width || tile.descr !== whole.descr) {
        throw new ApiError('The server sent another part of the tensor than was asked for.', 0);
      }
      for (let i = 0; i < height; i++) {
        const line = tile.bytes.subarray(i * width * tile.size, (i + 1) * width * tile.size);
        whole.bytes.set(line, ((down + i) * columns + across) * tile.size);
      }
    }
  }
  return whole!;
}

// The shortest text that is this number of 32 bits again.
export function shortest(value: number): string {
  if (!Number.isFinite(value)) return formatNumber(value);
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return signed(value, String(Number(text)));
  }
  return String(Number(value.toPrecision(9)));
}

function signed(value: number, text: string): string {
  return Object.is(value, -0) ? '-0' : text;
}

function double(value: number): string {
  return Number.isFinite(value) ? signed(value, String(value)) : formatNumber(value);
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

type Reader = (view: DataView, at: number) => string;

// As Python writes them.
function complex(real: string, imaginary: string): string {
  return `${real}${imaginary.startsWith('-') ? '' : '+'}${imaginary}j`;
}

const READERS: Record<string, Reader> = {
  '|b1': (view, at) => String(view.getUint8(at)),
  '|i1': (view, at) => String(view.getInt8(at)),
  '|u1': (view, at) => String(view.getUint8(at)),
  '<i2': (view, at) => String(view.getInt16(at, true)),
  '<u2': (view, at) => String(view.getUint16(at, true)),
  '<i4': (view, at) => String(view.getInt32(at, true)),
  '<u4': (view, at) => String(view.getUint32(at, true)),
  '<i8': (view, at) => String(view.getBigInt64(at, true)),
  '<u8': (view, at) => String(view.getBigUint64(at, true)),
  '<f2': (view, at) => double(half(view.getUint16(at, true))),
  '<f4': (view, at) => shortest(view.getFloat32(at, true)),
  '<f8': (view, at) => double(view.getFloat64(at, true)),
  '<c8': (view, at) => complex(shortest(view.getFloat32(at, true)), shortest(view.getFloat32(at + 4, true))),
  '<c16': (view, at) => complex(double(view.getFloat64(at, true)), double(view.getFloat64(at + 8, true))),
};

// Each value as a text that is this value again in its type.
export function textsOf(part: ExactPart): string[][] {
  const read = READERS[part.descr];
  if (!read) throw new ApiError(`Values of the type ${part.descr} have no text here; save them as .npy.`, 0);
  const view = new DataView(part.bytes.buffer, part.bytes.byteOffset, part.bytes.byteLength);
  return Array.from({ length: part.rows }, (_, row) =>
    Array.from({ length: part.columns }, (_unused, column) => read(view, (row * part.columns + column) * part.size)),
  );
}
