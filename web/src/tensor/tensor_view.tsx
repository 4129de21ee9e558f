// One record: its description, its statistics, the spread of its values, and the values.

import { useState } from 'preact/hooks';
import { get, isReport, pathOf } from '../base/api';
import { commandLine } from '../base/command_line';
import { formatCount, formatShape, formatValue, isNonFinite } from '../base/format';
import { CopyButton, Loading, Problem, Source } from '../base/parts';
import { linkTo, numberOf, type Place } from '../base/place';
import { Texts } from '../base/texts';
import type { DumpAnswer, Histogram, Reader, RecordAnswer, SlotLink, Which } from '../base/types';
import { useAnswer, useKept, useLoaded } from '../base/use_answer';
import { HistogramView } from './histogram';
import { parseAt } from './slice_model';
import { SliceView } from './slice_view';

const STATISTICS = [
  ['min', 'min'],
  ['max', 'max'],
  ['mean', 'mean'],
  ['std', 'std'],
  ['l2', 'L2'],
  ['absmax', 'absmax'],
  ['mean_abs', 'mean |x|'],
  ['zero', 'zeros'],
  ['nan', 'NaN'],
  ['pos_inf', '+Inf'],
  ['neg_inf', '-Inf'],
  ['subnormal', 'subnormal'],
];
const COUNTS = new Set(['nan', 'pos_inf', 'neg_inf']);

function Statistics({ record }: { record: RecordAnswer }) {
  const known = STATISTICS.filter(([key]) => record[key] !== null && record[key] !== undefined);
  if (known.length === 0) return null;
  return (
    <dl class="statistics">
      {known.map(([key, name]) => {
        const value = record[key];
        const isBad = isNonFinite(value) || (COUNTS.has(key) && Number(value) > 0);
        return (
          <div key={key}>
            <dt>{name}</dt>
            <dd class={isBad ? 'number bad' : 'number'} title={String(value)}>
              {typeof value === 'number' && Number.isInteger(value) ? formatCount(value) : formatValue(value, 5)}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

const MOST_LINKS = 40;

function Links({ title, links, dump, here }: { title: string; links: SlotLink[]; dump: Which; here: number }) {
  if (links.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul class="links">
        {links.slice(0, MOST_LINKS).map((link, i) => (
          <li key={i}>
            {link.record === null || link.record === here ? (
              <b>{link.slot}</b>
            ) : (
              <a href={linkTo('tensor', { record: link.record, dump })}>{link.slot}</a>
            )}{' '}
            <span class="shape">{link.dtype === null ? 'not captured' : `${link.dtype} ${formatShape(link.shape)}`}</span>
            {link.name && <span class="path"> {link.name}</span>}
          </li>
        ))}
      </ul>
      {links.length > MOST_LINKS && <p>and {links.length - MOST_LINKS} more</p>}
    </>
  );
}

function Readers({ readers, dump }: { readers: Reader[]; dump: Which }) {
  if (readers.length === 0) return null;
  return (
    <>
      <h2>Read by</h2>
      <ul class="links">
        {readers.slice(0, MOST_LINKS).map((reader, i) => (
          <li key={i}>
            <a
              href={
                reader.record === null ? linkTo('graph', { op: reader.op_id, dump }) : linkTo('tensor', { record: reader.record, dump })
              }
            >
              {reader.op}
            </a>{' '}
            {reader.type}
          </li>
        ))}
      </ul>
      {readers.length > MOST_LINKS && <p>and {readers.length - MOST_LINKS} more</p>}
    </>
  );
}

function TensorHead({ record, which, answer }: { record: RecordAnswer; which: Which; answer: DumpAnswer }) {
  const dump = answer.dumps[which === 'b' ? 1 : 0];
  const number = record.record ?? record.row;
  return (
    <>
      <h1 class="op-name">
        {record.op}:{record.slot}
      </h1>
      <dl class="facts">
        <dt>Type of the op</dt>
        <dd>{record.type}</dd>
        <dt>Step</dt>
        <dd>
          {record.step}
          {record.call > 0 ? `, call ${record.call}` : ''}
          {record.rank > 0 ? `, rank ${record.rank}` : ''} ({record.phase})
        </dd>
        <dt>Tensor</dt>
        <dd>
          <span class="shape">
            {record.dtype} {formatShape(record.shape)}
          </span>
          , {formatCount(record.numel)} values
        </dd>
        {record.module && (
          <>
            <dt>Module</dt>
            <dd>{record.module}</dd>
          </>
        )}
        {record.originals?.some((original) => original.name !== record.op) && (
          <>
            <dt>Written as</dt>
            <dd>{record.originals.map((original) => original.name).join(', ')}</dd>
          </>
        )}
      </dl>
      <nav class="actions">
        <a href={linkTo('graph', { op: record.op_id, step: record.step, dump: which })}>In the graph</a>
        <a href={linkTo('table', { op: record.op_id, dump: which })}>In the table</a>
        {dump.steps.length > 1 && <a href={linkTo('steps', { op: record.op_id, slot: record.slot, dump: which })}>Over the steps</a>}
        {record.pair !== null && record.pair !== undefined && <a href={linkTo('pair', { pair: record.pair })}>Against the other dump</a>}
        <CopyButton text={commandLine(['tensortap', 'show', dump.name, String(number)], {})}>Copy as command line</CopyButton>
      </nav>
    </>
  );
}

interface Shown {
  number: number;
  which: Which;
  record: RecordAnswer;
}

export function TensorView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const number = numberOf(place, 'record') ?? 0;
  const loaded = useLoaded<Shown>(pathOf(`/api/record/${number}`, { dump: which }), async (asked, signal) => ({
    number,
    which,
    record: await get<RecordAnswer>(asked, signal),
  }));
  const shown = loaded.value;
  const view = useKept(
    shown !== null && shown.number === number && shown.which === which,
    () => shown && <RecordView key={`${which} ${number}`} {...shown} place={place} answer={answer} />,
  );
  return loaded.error ? <Problem text={loaded.error} /> : (view ?? <Loading />);
}

function RecordView({ number, which, record, place, answer }: Shown & { place: Place; answer: DumpAnswer }) {
  const [by, setBy] = useState('value');
  const kind = by === 'value' ? null : by;
  const histogram = useAnswer<Histogram>(pathOf(`/api/record/${number}/histogram`, { dump: which, bins: 64, by: kind }));
  const counts = [record.nan, record.pos_inf, record.neg_inf];
  const mayBeBad = counts.some((count) => count === null || count === undefined || Number(count) > 0);
  return (
    <div class="tensor-view">
      <aside class="tensor-side" aria-label="Record">
        <TensorHead record={record} which={which} answer={answer} />
        {record.numel > 0 && <Statistics record={record} />}
        {record.numel > 0 && histogram.value && (
          <HistogramView histogram={histogram.value} by={by} onBy={record.has_data && !isReport() ? setBy : undefined} />
        )}
        <Source source={record.source} lines={record.source_lines} />
        <Links title="Inputs of the op" links={record.inputs ?? []} dump={which} here={number} />
        <Links title="Outputs of the op" links={record.outputs ?? []} dump={which} here={number} />
        <Readers readers={record.consumers ?? []} dump={which} />
      </aside>
      <main class="tensor-main">
        {record.has_data && record.dtype === 'string' ? (
          <Texts record={number} which={which} />
        ) : record.has_data ? (
          <SliceView
            shape={record.shape}
            at={parseAt(place.parameters.get('at'), record.shape)}
            zoom={place.parameters.get('zoom')}
            mayBeBad={mayBeBad}
            find={place.parameters.get('find')}
            source={{
              address: `/api/record/${number}/slice`,
              findAddress: `/api/record/${number}/find`,
              parameters: { dump: which },
              dtype: record.dtype,
              jumps: { nonfinite: 'First NaN or Inf', largest: 'Largest', smallest: 'Smallest' },
            }}
          />
        ) : (
          <p class="empty">
            Of this record the dump has statistics only. Capture with <code>--full</code> to see the values.
          </p>
        )}
      </main>
    </div>
  );
}
