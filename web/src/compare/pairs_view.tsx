// Two dumps, tensor by tensor.

import { counted, formatShape, formatValue, formatVerdicts, isNonFinite } from '../base/format';
import { commandLine } from '../base/command_line';
import { Choice, CopyButton, Problem, verdictKind } from '../base/parts';
import { change, go, linkTo, numberOf, type Place } from '../base/place';
import type { CompareState, DumpAnswer, Pair } from '../base/types';
import { useRows, VirtualList } from '../table/virtual_list';

const ONLY = { all: 'all pairs', differing: 'what differs', first: 'the first outside of the tolerance' };
const SORT = { error: 'largest error', own: 'most added by the op', order: 'as they ran' };

interface Column {
  name: string;
  width: string;
  isNumber: boolean;
  text(pair: Pair): string;
}

function number(name: keyof Pair & string, title = name, width = '6.6rem'): Column {
  return { name: title, width, isNumber: true, text: (pair) => formatValue(pair[name]) };
}

const COLUMNS: Column[] = [
  { name: 'verdict', width: '7rem', isNumber: false, text: (pair) => pair.verdict },
  { name: 'of A', width: 'minmax(14rem, 3fr)', isNumber: false, text: (pair) => pair.a },
  { name: 'of B', width: 'minmax(6.5rem, 1fr)', isNumber: false, text: (pair) => (pair.a === pair.b ? 'the same' : pair.b) },
  { name: 'type', width: 'minmax(6.5rem, 1fr)', isNumber: false, text: (pair) => pair.type_a },
  { name: 'shape', width: 'minmax(9rem, 1fr)', isNumber: false, text: (pair) => formatShape(pair.shape_a) },
  number('step_a', 'step', '4rem'),
  number('error'),
  number('tolerance', 'tolerance', '6.2rem'),
  { name: 'birth', width: '5.6rem', isNumber: false, text: (pair) => formatValue(pair.birth) },
  number('growth', 'growth', '5rem'),
  number('max_abs', 'max abs'),
  number('max_ulp', 'max ULP'),
  number('cosine', 'cosine', '5rem'),
];
const TEMPLATE = COLUMNS.map((column) => column.width).join(' ');

function Cells({ pair }: { pair: Pair }) {
  return (
    <>
      {COLUMNS.map((column) => {
        const text = column.text(pair);
        const isName = column.name === 'of A' || (column.name === 'of B' && pair.a !== pair.b);
        const kind = column.isNumber
          ? 'cell number'
          : column.name === 'verdict'
            ? `cell ${verdictKind(pair.verdict)}`
            : isName
              ? 'cell op'
              : 'cell';
        return (
          <span
            key={column.name}
            role="gridcell"
            class={isNonFinite(text) ? `${kind} bad` : kind}
            title={column.isNumber ? undefined : text}
          >
            <bdi>{text}</bdi>
          </span>
        );
      })}
    </>
  );
}

function Header() {
  return (
    <>
      {COLUMNS.map((column) => (
        <span key={column.name} role="columnheader" class={column.isNumber ? 'cell number' : 'cell'}>
          {column.name}
        </span>
      ))}
    </>
  );
}

function Summary({ state }: { state: CompareState }) {
  const { records = 0, verdicts = {}, given = {} } = state.summary ?? {};
  const all: Record<string, number> = { ...verdicts };
  for (const [verdict, count] of Object.entries(given)) all[verdict] = (all[verdict] ?? 0) + count;
  const text = `${counted(records, 'pair')}: ${formatVerdicts(all)}`;
  const parts = `Values of ops: ${formatVerdicts(verdicts) || 'none'}. Weights and inputs: ${formatVerdicts(given) || 'none'}.`;
  return (
    <span class="count" role="status" title={parts}>
      {text}
    </span>
  );
}

export function PairsView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const only = place.parameters.get('only') ?? 'all';
  const sort = place.parameters.get('sort') ?? 'error';
  const state = answer.compare;
  const isReady = state?.state === 'ready';
  const rows = useRows<Pair>(isReady ? '/api/pairs' : null, { only, sort });
  const focused = numberOf(place, 'row') ?? -1;
  const [a, b] = answer.dumps;
  if (!state) return <p class="empty">Open two dumps to compare them: tensortap serve A B</p>;
  if (!isReady) {
    return (
      <div class="empty">
        {state.error ? <Problem text={state.error} /> : <p>Comparing: {state.stage}</p>}
        {!state.error && <progress value={state.done} max={Math.max(1, state.all)} />}
      </div>
    );
  }
  const open = (index: number) => {
    const pair = rows.at(index);
    if (pair) go(linkTo('pair', { pair: pair.pair }));
  };
  const focusedPair = focused >= 0 ? rows.at(focused) : undefined;
  const look = focusedPair ? 'button' : 'button hidden';
  return (
    <div class="table-view">
      <div class="toolbar one-line" role="toolbar" aria-label="Pairs">
        <Choice
          label="Show"
          value={only}
          options={ONLY}
          onChange={(value) => change({ only: value === 'all' ? null : value, row: null })}
        />
        <Choice
          label="Order"
          value={sort}
          options={SORT}
          onChange={(value) => change({ sort: value === 'error' ? null : value, row: null })}
        />
        <Summary state={state} />
        <span class="spring" />
        <a class={look} href={focusedPair && linkTo('pair', { pair: focusedPair.pair })}>
          Values
        </a>
        <a
          class={look}
          href={focusedPair && linkTo('graph', { op: focusedPair.op_a, heat: 'error', flow: focusedPair.record_a, way: 'error' })}
        >
          In the graph
        </a>
        <CopyButton text={commandLine(['tensortap', 'compare', a.name, b.name], { only, sort })}>Copy as command</CopyButton>
      </div>
      <Problem text={rows.error} />
      {rows.error === null && (
        <VirtualList<Pair>
          rows={rows}
          label="Pairs of tensors"
          columns={TEMPLATE}
          header={<Header />}
          focused={focused}
          onFocus={(index) => change({ row: index }, true)}
          onOpen={open}
          cells={(pair) => <Cells pair={pair} />}
        />
      )}
      {rows.total === 0 && <p class="empty">There are no such pairs.</p>}
    </div>
  );
}
