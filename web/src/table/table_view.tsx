// The table of records, with the filter and the order of `tensortap ls`.

import { useEffect, useState } from 'preact/hooks';
import { commandLine, exactly } from '../base/command_line';
import { formatCount, formatShape, formatValue, isNonFinite, shortSource } from '../base/format';
import { CopyButton, Problem } from '../base/parts';
import { change, go, linkTo, numberOf, type Place } from '../base/place';
import type { DumpAnswer, RecordRow, Which } from '../base/types';
import { useRows, VirtualList } from './virtual_list';

interface Column {
  name: string;
  width: string;
  isNumber: boolean;
  canSort: boolean;
  // Shown only if the first record has a value: statistics that are measured on request.
  onRequest?: boolean;
  text(row: RecordRow): string;
}

function number(name: string, width = '6.2rem'): Column {
  return { name, width, isNumber: true, canSort: true, text: (row) => formatValue(row[name]) };
}

function text(name: string, width: string, canSort = true): Column {
  return { name, width, isNumber: false, canSort, text: (row) => formatValue(row[name]) };
}

const COLUMNS: Column[] = [
  { ...number('row', '4.6rem'), canSort: false, text: (row) => String(row.record ?? row.row) },
  number('step', '3.6rem'),
  text('op', 'minmax(12rem, 3fr)'),
  text('type', 'minmax(6rem, 1fr)'),
  text('slot', '3.4rem'),
  text('dtype', '5rem'),
  { ...text('shape', 'minmax(9rem, 1fr)', false), text: (row) => formatShape(row.shape) },
  number('min'),
  number('max'),
  number('mean'),
  number('std'),
  number('absmax'),
  { ...number('mean_abs'), onRequest: true },
  { ...number('subnormal', '6.8rem'), onRequest: true },
  number('zero', '4.4rem'),
  number('nan', '4.4rem'),
  { ...number('inf', '4rem'), canSort: false, text: (row) => formatValue(Number(row.pos_inf ?? 0) + Number(row.neg_inf ?? 0)) },
  { ...text('source', 'minmax(9rem, 1fr)', false), text: (row) => (row.source ? shortSource(row.source) : '') },
];

function columnsFor(first: RecordRow | undefined): Column[] {
  return COLUMNS.filter((column) => !column.onRequest || (first?.[column.name] ?? null) !== null);
}

function isBad(column: Column, row: RecordRow): boolean {
  if (column.name === 'nan') return Number(row.nan ?? 0) > 0;
  if (column.name === 'inf') return Number(row.pos_inf ?? 0) + Number(row.neg_inf ?? 0) > 0;
  return column.isNumber && isNonFinite(row[column.name]);
}

function Cells({ columns, row }: { columns: Column[]; row: RecordRow }) {
  return (
    <>
      {columns.map((column) => {
        const shown = column.text(row);
        const value = column.name === 'op' ? <bdi>{shown}</bdi> : shown;
        const kind = (column.isNumber ? 'cell number' : `cell ${column.name}`) + (isBad(column, row) ? ' bad' : '');
        return (
          <span key={column.name} role="gridcell" class={kind} title={column.isNumber ? undefined : formatValue(row[column.name]) || shown}>
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

// A field whose value goes into the fragment when Enter is pressed or the field is left.
function Filter({ name, label, hint, value, wide }: { name: string; label: string; hint: string; value: string; wide?: boolean }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const apply = () => typed !== value && change({ [name]: typed, row: null });
  return (
    <label class={wide ? 'field wide' : 'field'}>
      <span>{label}</span>
      <input
        name={name}
        value={typed}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={apply}
        onKeyDown={(event) => event.key === 'Enter' && apply()}
      />
    </label>
  );
}

function summary(total: number | null, all: number): string {
  if (total === null) return '';
  return total === all ? `${formatCount(all)} records` : `${formatCount(total)} of ${formatCount(all)} records`;
}

export function TableView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const dump = answer.dumps[which === 'b' ? 1 : 0] ?? answer.dumps[0];
  const of = (name: string) => place.parameters.get(name) ?? '';
  const filter = { where: of('where'), op: of('op'), type: of('type'), step: of('step'), slot: of('slot'), sort: of('sort') };
  const rows = useRows<RecordRow>('/api/records', { dump: which, ...filter });
  const columns = columnsFor(rows.at(0));
  const focused = numberOf(place, 'row') ?? -1;
  const focusedRow = focused >= 0 ? rows.at(focused) : undefined;
  const opName = filter.op !== '' ? rows.at(0)?.op : undefined;
  const command = commandLine(['tensortap', 'ls', dump.name], { ...filter, op: opName ? exactly(opName) : null });
  // They keep their place while no row is chosen: what moved under the pointer would take the second click.
  const look = focusedRow ? 'button' : 'button hidden';
  const open = (index: number) => {
    const row = rows.at(index);
    if (row) go(linkTo('tensor', { record: row.record ?? row.row, dump: which }));
  };
  return (
    <div class="table-view">
      <div class="toolbar one-line" role="toolbar" aria-label="Table">
        <Filter name="where" label="Where" hint="nan > 0 or absmax > 6e4" value={filter.where} wide />
        <Filter name="type" label="Type" hint="Conv,Gemm" value={filter.type} />
        <Filter name="step" label="Steps" hint="0,3-5" value={filter.step} />
        <Filter name="slot" label="Slots" hint="out" value={filter.slot} />
        {filter.op !== '' && (
          <button type="button" class="chip" onClick={() => change({ op: null, row: null })} title="Show all ops">
            {opName ?? `op ${filter.op}`} ×
          </button>
        )}
        <span class="spring" />
        <span class="count" role="status">
          {summary(rows.total, dump.records)}
        </span>
        <a class={look} href={focusedRow && linkTo('tensor', { record: focusedRow.record ?? focusedRow.row, dump: which })}>
          Tensor
        </a>
        <a class={look} href={focusedRow && linkTo('graph', { op: focusedRow.op_id, dump: which })}>
          In the graph
        </a>
        <CopyButton text={command}>Copy as command</CopyButton>
      </div>
      <Problem text={rows.error} />
      {rows.error === null && (
        <VirtualList<RecordRow>
          rows={rows}
          label={`Records of ${dump.name}`}
          columns={columns.map((column) => column.width).join(' ')}
          header={<Header columns={columns} sort={filter.sort} />}
          focused={focused}
          onFocus={(index) => change({ row: index }, true)}
          onOpen={open}
          cells={(row) => <Cells columns={columns} row={row} />}
        />
      )}
      {rows.total === 0 && <p class="empty">No record matches.</p>}
    </div>
  );
}
