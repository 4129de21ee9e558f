// The part of a tensor that is shown, for other programs: every value of it, however coarse the picture is.

import { useState } from 'preact/hooks';
import { formatAt, sliceFrom, type At, type Window } from '../tensor/slice_model';
import { getBinary, isReport, pathOf, type Parameters } from './api';
import { counted, formatCount, formatNumber } from './format';
import { Menu } from './menu';
import { copyText, csvOf, fileName, npyOf, saveFile, tabbed } from './take_out';
import { messageOf } from './use_answer';

// What the server sends in one answer.
const TILE = 512;
const MOST_VALUES = 1 << 24;
const MOST_COPIED = 1 << 18;

// The shortest text that is this number of 32 bits again.
export function shortest(value: number): string {
  if (!Number.isFinite(value)) return formatNumber(value);
  for (let digits = 6; digits < 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value) return String(Number(text));
  }
  return String(Number(value.toPrecision(9)));
}

async function valuesOf(address: string, parameters: Parameters, at: At, window: Window): Promise<Float32Array<ArrayBuffer>> {
  const values = new Float32Array(window.rows * window.columns);
  for (let row = 0; row < window.rows; row += TILE) {
    for (let column = 0; column < window.columns; column += TILE) {
      const rows = Math.min(TILE, window.rows - row);
      const columns = Math.min(TILE, window.columns - column);
      const path = pathOf(address, {
        ...parameters,
        at: formatAt(at),
        rows: `${window.row + row}:${window.row + row + rows}`,
        cols: `${window.column + column}:${window.column + column + columns}`,
        reduce: 'value',
      });
      const tile = sliceFrom(await getBinary(path));
      if (tile.rows !== rows || tile.columns !== columns) throw new Error('The server sent another part of the tensor than was asked for.');
      for (let i = 0; i < rows; i++) {
        values.set(tile.values.subarray(i * columns, (i + 1) * columns), (row + i) * window.columns + column);
      }
    }
  }
  return values;
}

function rowsOf(values: Float32Array, columns: number): string[][] {
  const rows: string[][] = [];
  for (let from = 0; from < values.length; from += columns) rows.push(Array.from(values.subarray(from, from + columns), shortest));
  return rows;
}

interface Properties {
  address: string;
  parameters: Parameters;
  at: At;
  window: Window;
}

export function TakeSlice({ address, parameters, at, window }: Properties) {
  const [note, setNote] = useState('');
  if (isReport()) return null;
  const count = window.rows * window.columns;
  const name = fileName(`${address.replace('/api/', '')} ${formatAt(at).replaceAll(':', 'all')}`);
  const doing = async (what: (values: Float32Array<ArrayBuffer>) => string | Promise<string>) => {
    try {
      setNote('Reading …');
      setNote(await what(await valuesOf(address, parameters, at, window)));
    } catch (problem) {
      setNote(messageOf(problem));
    }
  };
  const copy = async (values: Float32Array) => {
    await copyText(tabbed(rowsOf(values, window.columns)));
    return `${counted(count, 'value')} copied.`;
  };
  const saveCsv = (values: Float32Array) => {
    saveFile(`${name}.csv`, [csvOf(rowsOf(values, window.columns))], 'text/csv');
    return `${counted(count, 'value')} saved.`;
  };
  const saveNpy = (values: Float32Array<ArrayBuffer>) => {
    saveFile(`${name}.npy`, npyOf(values, window.rows, window.columns), 'application/octet-stream');
    return `${counted(count, 'value')} saved.`;
  };
  const isTooLarge = count > MOST_VALUES;
  return (
    <Menu name="Take out">
      <button type="button" disabled={count > MOST_COPIED} onClick={() => void doing(copy)}>
        Copy what is shown
      </button>
      <button type="button" disabled={isTooLarge} onClick={() => void doing(saveCsv)}>
        Save as CSV
      </button>
      <button type="button" disabled={isTooLarge} onClick={() => void doing(saveNpy)}>
        Save as .npy
      </button>
      <p role="status">
        {note ||
          (isTooLarge
            ? `These are more than ${formatCount(MOST_VALUES)} values: zoom in, or read the dump by tensortap.open().`
            : `${formatCount(window.rows)} × ${formatCount(window.columns)} values of 32 bits: all of them, also where a cell of the picture shows several.`)}
      </p>
    </Menu>
  );
}
