// The table of records, with the filter and the order of `tensortap ls`.

import { useRef, useState } from 'preact/hooks';
import { commandLine, exactly } from '../base/command_line';
import { ofFloats, withoutFloats } from '../base/floats';
import { formatCount, formatValue } from '../base/format';
import { Menu } from '../base/menu';
import { CopyButton, Problem } from '../base/parts';
import { change, go, linkTo, numberOf, type Place } from '../base/place';
import { Field, OpField, TypeField } from '../base/suggestions';
import type { DumpAnswer, RecordRow, Which } from '../base/types';
import { chosenColumns, COLUMNS, isBad, templateOf, widthsFor, type Column } from './columns';
import { TakeOut } from './take_out_menu';
import { copyText, tabbed } from '../base/take_out';
import { useRows, VirtualList, type Rows } from './virtual_list';

function Cells({ columns, row, focused }: { columns: Column[]; row: RecordRow; focused: string | null }) {
  return (
    <>
      {columns.map((column) => {
        const shown = column.text(row);
        const value = column.name === 'op' ? <bdi>{shown}</bdi> : shown;
        const isUnwritten = column.name === 'min' && row.unwritten === true;
        const kind =
          `cell ${column.isNumber ? 'number' : column.name}` + (isBad(column, row) ? ' bad' : '') + (isUnwritten ? ' unwritten' : '');
        const look = column.name === focused ? `${kind} focused` : kind;
        return (
          <span
            key={column.name}
            role="gridcell"
            class={look}
            data-column={column.name}
            title={column.full(row) || formatValue(row[column.name])}
          >
            {value}
          </span>
        );
      })}
    </>
  );
}

function Header({ columns, sort }: { columns: Column[]; sort: string }) {
  const key = sort.replace(/^-/, '');
  const next = (name: string) => (key !== name ? `-${name}` : sort.startsWith('-') ? name : null);
  return (
    <>
      {columns.map((column) => {
        const kind = column.isNumber ? 'cell number' : 'cell';
        const order = key !== column.name ? 'none' : sort.startsWith('-') ? 'descending' : 'ascending';
        return (
          <span key={column.name} role="columnheader" class={kind} aria-sort={order}>
            {column.canSort ? (
              <button type="button" class="sort" onClick={() => change({ sort: next(column.name), row: null })}>
                {column.name}
                {order === 'descending' ? ' ↓' : order === 'ascending' ? ' ↑' : ''}
              </button>
            ) : (
              column.name
            )}
          </span>
        );
      })}
    </>
  );
}

function ColumnChooser({ shown }: { shown: Column[] }) {
  const names = shown.map((column) => column.name);
  const toggle = (name: string) => {
    const next = COLUMNS.map((column) => column.name).filter((one) => names.includes(one) !== (one === name));
    if (next.length > 0) change({ columns: next.join(',') }, true);
  };
  return (
    <Menu name="Columns">
      <fieldset class="column-list">
        <legend>Columns of the table</legend>
        {COLUMNS.map(({ name }) => (
          <label key={name} class="check">
            <input type="checkbox" name={`column-${name}`} checked={names.includes(name)} onChange={() => toggle(name)} />
            {name}
          </label>
        ))}
      </fieldset>
      <button type="button" onClick={() => change({ columns: null }, true)}>
        The usual ones
      </button>
    </Menu>
  );
}

function summary(total: number | null, all: number): string {
  if (total === null) return '';
  return total === all ? `${formatCount(all)} records` : `${formatCount(total)} of ${formatCount(all)} records`;
}

interface Filter {
  where: string;
  op: string;
  type: string;
  step: string;
  slot: string;
  sort: string;
}

function Filters({ filter, which, opName }: { filter: Filter; which: Which; opName: string | undefined }) {
  const typed = withoutFloats(filter.where);
  const where = typed ?? filter.where;
  const take = (name: string) => (text: string) => change({ [name]: text, row: null });
  const takeWhere = (text: string, floats: boolean) => change({ where: floats ? ofFloats(text) : text, row: null });
  const byNumber = /^\d+$/.test(filter.op);
  return (
    <>
      <Field
        name="where"
        label="Where"
        hint="nan > 0 or absmax > 6e4"
        value={where}
        wide
        onTake={(text) => takeWhere(text, typed !== null)}
      />
      {byNumber ? (
        <button type="button" class="chip" onClick={() => change({ op: null, row: null })} title="Show all ops">
          {opName ?? `op ${filter.op}`} ×
        </button>
      ) : (
        <OpField label="Op" which={which} value={filter.op} onTake={take('op')} />
      )}
      <TypeField which={which} value={filter.type} onTake={take('type')} />
      <Field name="step" label="Steps" hint="0,3-5" value={filter.step} onTake={take('step')} />
      <Field name="slot" label="Slots" hint="out" value={filter.slot} onTake={take('slot')} />
      <label class="check">
        <input type="checkbox" name="floats" checked={typed !== null} onChange={() => takeWhere(where, typed === null)} />
        Floats only
      </label>
    </>
  );
}

// The columns, wide enough for every digit that was shown so far.
function useTemplate(columns: Column[], rows: Rows<RecordRow>, seen: { from: number; to: number }) {
  const widths = useRef(new Map<string, number>());
  const shown: RecordRow[] = [];
  for (let i = seen.from; i < seen.to; i++) {
    const row = rows.at(i);
    if (row) shown.push(row);
  }
  widthsFor(columns, shown, widths.current);
  return templateOf(columns, widths.current);
}

// Control and C copies the cell that was clicked, or the row that the keys chose. A selected text is the browser's matter.
function copyKey(event: KeyboardEvent, row: RecordRow | undefined, columns: Column[], cell: string | null): void {
  if (event.key !== 'c' || !(event.ctrlKey || event.metaKey) || !row || String(getSelection()) !== '') return;
  event.preventDefault();
  const chosen = columns.filter((column) => cell === null || column.name === cell);
  void copyText(tabbed([chosen.map((column) => column.full(row))]));
}

export function TableView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const dump = answer.dumps[which === 'b' ? 1 : 0] ?? answer.dumps[0];
  const of = (name: string) => place.parameters.get(name) ?? '';
  const filter = { where: of('where'), op: of('op'), type: of('type'), step: of('step'), slot: of('slot'), sort: of('sort') };
  const rows = useRows<RecordRow>('/api/records', { dump: which, ...filter });
  const columns = chosenColumns(of('columns'), rows.at(0));
  const [seen, setSeen] = useState({ from: 0, to: 60 });
  const { template, least } = useTemplate(columns, rows, seen);
  const focused = numberOf(place, 'row') ?? -1;
  const [cell, setCell] = useState<string | null>(null);
  const focusedRow = focused >= 0 ? rows.at(focused) : undefined;
  const byNumber = /^\d+$/.test(filter.op);
  const opName = byNumber ? rows.at(0)?.op : undefined;
  const listed = of('columns') && columns.map((column) => column.name).join(',');
  const op = opName ? exactly(opName) : filter.op;
  const command = commandLine(['tensortap', 'ls', dump.name], { ...filter, op, columns: listed });
  // They keep their place while no row is chosen: what moved under the pointer would take the second click.
  const look = focusedRow ? 'button' : 'button hidden';
  const open = (index: number) => {
    const row = rows.at(index);
    if (row) go(linkTo('tensor', { record: row.record ?? row.row, dump: which }));
  };
  return (
    <div class="table-view" onKeyDown={(event) => copyKey(event, focusedRow, columns, cell)}>
      <div class="toolbar one-line" role="toolbar" aria-label="Filter">
        <Filters filter={filter} which={which} opName={opName} />
      </div>
      <div class="toolbar one-line" role="toolbar" aria-label="Table">
        <span class="count" role="status">
          {summary(rows.total, dump.records)}
        </span>
        <span class="spring" />
        <a class={look} href={focusedRow && linkTo('tensor', { record: focusedRow.record ?? focusedRow.row, dump: which })}>
          Tensor
        </a>
        <a class={look} href={focusedRow && linkTo('graph', { op: focusedRow.op_id, dump: which })}>
          In the graph
        </a>
        <ColumnChooser shown={columns} />
        <TakeOut
          columns={columns}
          row={focusedRow}
          cell={cell}
          total={rows.total ?? 0}
          parameters={{ dump: which, ...filter }}
          name={dump.name}
        />
        <CopyButton text={command}>Copy as command</CopyButton>
      </div>
      <Problem text={rows.error} />
      {rows.error === null && (
        <VirtualList<RecordRow>
          rows={rows}
          label={`Records of ${dump.name}`}
          columns={template}
          leastWidth={least}
          header={<Header columns={columns} sort={filter.sort} />}
          focused={focused}
          onFocus={(index, target) => {
            setCell((target as HTMLElement | undefined)?.closest<HTMLElement>('[data-column]')?.dataset.column ?? null);
            change({ row: index }, true);
          }}
          onSeen={(from, to) => setSeen((old) => (old.from === from && old.to === to ? old : { from, to }))}
          onOpen={open}
          cells={(row, index) => <Cells columns={columns} row={row} focused={index === focused ? cell : null} />}
        />
      )}
      {rows.total === 0 && <p class="empty">No record matches.</p>}
    </div>
  );
}
