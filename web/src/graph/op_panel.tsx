// Beside the graph: the selected op, its line of source, and its records of one step.

import { pathOf } from '../base/api';
import { counted, formatShape, formatValue, isNonFinite } from '../base/format';
import { Problem, Source, verdictKind } from '../base/parts';
import { change, linkTo } from '../base/place';
import { NON_FINITE } from '../base/report';
import type { DumpInfo, List, OpAnswer, Pair, RecordRow, Which } from '../base/types';
import { useAnswer } from '../base/use_answer';

function nonFinite(row: RecordRow): number {
  return Number(row.nan ?? 0) + Number(row.pos_inf ?? 0) + Number(row.neg_inf ?? 0);
}

export function rowOf(row: RecordRow): number {
  return row.record ?? row.row;
}

function Cell({ value }: { value: unknown }) {
  return <td class={isNonFinite(value) ? 'number bad' : 'number'}>{formatValue(value)}</td>;
}

function Records({ rows, dump }: { rows: RecordRow[]; dump: Which }) {
  return (
    <table class="records">
      <thead>
        <tr>
          <th>slot</th>
          <th>shape</th>
          <th class="number">min</th>
          <th class="number">max</th>
          <th class="number">NaN, Inf</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowOf(row)}>
            <td>
              <a href={linkTo('tensor', { record: rowOf(row), dump, find: nonFinite(row) > 0 ? 'nonfinite' : null })}>{row.slot}</a>
            </td>
            <td class="shape" title={row.dtype}>
              {formatShape(row.shape)}
            </td>
            <Cell value={row.min} />
            <Cell value={row.max} />
            <td class={nonFinite(row) > 0 ? 'number bad' : 'number'}>{nonFinite(row) || ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// How far the op's tensors are from those of the other dump.
function Pairs({ pairs, which, total }: { pairs: Pair[]; which: Which; total: number }) {
  return (
    <section aria-label="Against the other dump">
      <h3>
        Against {which === 'b' ? 'A' : 'B'}
        {total > pairs.length ? `, ${pairs.length} of ${counted(total, 'pair')}` : ''}
      </h3>
      <table class="records pairs-of-op">
        <thead>
          <tr>
            <th>slot</th>
            <th>verdict</th>
            <th class="number">error</th>
            <th>birth</th>
          </tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={pair.pair}>
              <td>{slotOf(which === 'b' ? pair.b : pair.a)}</td>
              <td>
                <a class={verdictKind(pair.verdict)} href={linkTo('pair', { pair: pair.pair })}>
                  {pair.verdict}
                </a>
              </td>
              <Cell value={pair.error} />
              <td>{formatValue(pair.birth)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

// "layer:out0@3" is of slot out0.
function slotOf(record: string): string {
  return record.slice(record.lastIndexOf(':') + 1).replace(/@.*/, '');
}

// The step to show where none was chosen: the first in which the op had a value that is not finite, else its last.
function useStep(op: number, dump: DumpInfo, which: Which, chosen: number | null, last: number | null): number | null {
  const path = pathOf('/api/records', { dump: which, op, where: NON_FINITE, limit: 1 });
  const first = useAnswer<List<RecordRow>>(chosen === null && dump.steps.length > 1 ? path : null);
  if (chosen !== null) return chosen;
  if (dump.steps.length < 2) return dump.steps[0] ?? null;
  if (first.loading || first.path !== path) return null;
  return first.value?.items[0]?.step ?? last;
}

const SHOWN = 60;

interface OpPanelProperties {
  op: number;
  dump: DumpInfo;
  which: Which;
  step: number | null;
  // Whether there is a comparison with another dump.
  isCompared: boolean;
}

export function OpPanel({ op, dump, which, step, isCompared }: OpPanelProperties) {
  const answer = useAnswer<OpAnswer>(pathOf(`/api/op/${op}`, { dump: which }));
  const shownStep = useStep(op, dump, which, step, answer.value?.steps?.last ?? null);
  const rows = useAnswer<List<RecordRow>>(
    shownStep === null ? null : pathOf('/api/records', { dump: which, op, step: shownStep, limit: SHOWN }),
  );
  const pairs = useAnswer<List<Pair>>(
    isCompared && shownStep !== null ? pathOf('/api/pairs', { dump: which, op, step: shownStep, limit: SHOWN }) : null,
  );
  const about = answer.value;
  if (!about) return answer.error ? <Problem text={answer.error} /> : null;
  return (
    <>
      <h2 class="op-name">{about.name}</h2>
      <dl class="facts">
        <dt>Type</dt>
        <dd>
          {about.type}{' '}
          <button type="button" class="quiet highlight" onClick={() => change({ type: about.type })}>
            Highlight all
          </button>
        </dd>
        {about.module && (
          <>
            <dt>Module</dt>
            <dd>{about.module}</dd>
          </>
        )}
        {about.phase && (
          <>
            <dt>Phase</dt>
            <dd>{about.phase}</dd>
          </>
        )}
        {about.forward && (
          <>
            <dt>Gradient of</dt>
            <dd>{about.forward.op}</dd>
          </>
        )}
        {about.originals.length > 0 && about.originals.some((original) => original.name !== about.name) && (
          <>
            <dt>Written as</dt>
            <dd>{about.originals.map((original) => original.name).join(', ')}</dd>
          </>
        )}
      </dl>
      {!about.captured && <p class="missing-note">Not captured: {about.reason || 'no reason is known'}</p>}
      <Source source={about.source} lines={about.source_lines} />
      {rows.value && rows.value.items.length > 0 && (
        <section>
          <h3>
            Step {shownStep}
            {rows.value.total > SHOWN ? `, ${SHOWN} of ${counted(rows.value.total, 'record')}` : ''}
          </h3>
          <Records rows={rows.value.items} dump={which} />
        </section>
      )}
      {pairs.value && pairs.value.total > 0 && <Pairs pairs={pairs.value.items} which={which} total={pairs.value.total} />}
      {pairs.value?.total === 0 && <p class="missing-note">This op has no pair in the other dump.</p>}
      <Problem text={rows.error ?? pairs.error} />
      <nav class="actions">
        <a href={linkTo('table', { op, dump: which })}>{counted(about.records, 'record')} in the table</a>
        {dump.steps.length > 1 && <a href={linkTo('steps', { op, dump: which })}>Over the steps</a>}
      </nav>
    </>
  );
}
