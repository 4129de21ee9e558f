// What the table shows, for other programs: the clipboard and a file.

import { useState } from 'preact/hooks';
import { get, pathOf, type Parameters } from '../base/api';
import { formatCount } from '../base/format';
import { Menu } from '../base/menu';
import { copyText, csvOf, fileName, saveFile, tabbed } from '../base/take_out';
import type { List, RecordRow } from '../base/types';
import { messageOf } from '../base/use_answer';
import type { Column } from './columns';

const PAGE = 1000;
// More than a spreadsheet opens.
const MOST_ROWS = 1_000_000;
const MOST_COPIED = 10_000;

async function allRows(parameters: Parameters, most: number, told: (count: number) => void): Promise<RecordRow[]> {
  const found: RecordRow[] = [];
  for (let from = 0; from < most; from += PAGE) {
    const list = await get<List<RecordRow>>(pathOf('/api/records', { ...parameters, from, limit: PAGE }));
    found.push(...list.items);
    told(found.length);
    if (list.items.length < PAGE || found.length >= list.total) break;
  }
  return found;
}

interface Properties {
  columns: Column[];
  row: RecordRow | undefined;
  cell: string | null;
  total: number;
  parameters: Parameters;
  name: string;
}

export function TakeOut({ columns, row, cell, total, parameters, name }: Properties) {
  const [note, setNote] = useState('');
  const head = columns.map((column) => column.name);
  const cells = (one: RecordRow) => columns.map((column) => column.full(one));
  const column = columns.find((one) => one.name === cell);
  const doing = async (what: () => Promise<string>) => {
    try {
      setNote(await what());
    } catch (problem) {
      setNote(messageOf(problem));
    }
  };
  const read = (most: number) => allRows(parameters, most, (count) => setNote(`${formatCount(count)} rows read`));
  const copyAll = async () => {
    const rows = await read(MOST_COPIED);
    await copyText(tabbed([head, ...rows.map(cells)]));
    return total > rows.length
      ? `The first ${formatCount(rows.length)} rows were copied.`
      : `${formatCount(rows.length)} rows were copied.`;
  };
  const save = async () => {
    const rows = await read(MOST_ROWS);
    saveFile(`${fileName(name)}.csv`, [csvOf([head, ...rows.map(cells)])], 'text/csv');
    return `${formatCount(rows.length)} rows were saved.`;
  };
  const copy = async (text: string) => (await copyText(text), 'Copied.');
  return (
    <>
      <button
        type="button"
        disabled={total === 0}
        title={note || `All ${formatCount(total)} rows, with the columns that are shown`}
        onClick={() => void doing(save)}
      >
        Save as CSV
      </button>
      <Menu name="Take out">
        <button type="button" disabled={!row || !column} onClick={() => void doing(() => copy(column!.full(row!)))}>
          Copy the cell{column ? ` “${column.name}”` : ''}
        </button>
        <button type="button" disabled={!row} onClick={() => void doing(() => copy(tabbed([head, cells(row!)])))}>
          Copy the row
        </button>
        <button type="button" disabled={total === 0} onClick={() => void doing(copyAll)}>
          Copy {total > MOST_COPIED ? `the first ${formatCount(MOST_COPIED)}` : `all ${formatCount(total)}`} rows
        </button>
        <p role="status">{note || 'Every digit, and the columns that are shown. Ctrl C copies the cell that was clicked.'}</p>
      </Menu>
    </>
  );
}
