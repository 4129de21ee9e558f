// How values change over the steps: of an op, of several, of the loss and the gradients; and what `find --trends` says about all of them.

import { useMemo, useState } from 'preact/hooks';
import { get, pathOf } from '../base/api';
import { formatValue, isNonFinite } from '../base/format';
import { Choice, Problem } from '../base/parts';
import { change, linkTo, numberOf, type Place } from '../base/place';
import { Field, useNames } from '../base/suggestions';
import type { DumpAnswer, SearchHit, SeriesAnswer, Trend, Which } from '../base/types';
import { useAnswer } from '../base/use_answer';
import { Chart } from './chart';
import { valueAtStep, type Curve } from './chart_model';
import { curveColour } from './chart_paint';
import { addOp, presetOf, PRESET_KEY, removeOp, useOp, useSeries, type Chosen, type Preset } from './chosen_series';
import { curvesOf, mostCalls, ofCalls } from './curves';
import { KEYS, Trends } from './trends';

const MOST_CURVES = 24;

interface TrendsAnswer {
  trends: Trend[];
  judged: number;
  series: number;
}

function Curves({ curves, step }: { curves: Curve[]; step: number | null }) {
  return (
    <ul class="curves">
      {curves.map((curve, i) => {
        const value = step === null ? null : valueAtStep(curve, step);
        return (
          <li key={i}>
            <svg viewBox="0 0 16 4" aria-hidden="true">
              <rect width="16" height="4" fill={curveColour(i)} />
            </svg>
            <span>{curve.name}</span>
            <span class={isNonFinite(value) ? 'number bad' : 'number'}>{formatValue(value)}</span>
          </li>
        );
      })}
    </ul>
  );
}

// An op whose name is typed or chosen comes into the chart.
function OpPicker({ which, isFirst, onPick }: { which: Which; isFirst: boolean; onPick(op: number): void }) {
  const [typed, setTyped] = useState('');
  const [turn, setTurn] = useState(0);
  const names = [...new Set(useNames(which, 'op', typed.trim()).map((hit) => hit.name))];
  // Asked for here: the suggestions may still be those of fewer letters.
  const take = async (text: string) => {
    const asked = pathOf('/api/search', { dump: which, q: text.trim(), kind: 'op' });
    const { items } = await get<{ items: SearchHit[] }>(asked);
    const hit = items.find((one) => one.name === text) ?? items[0];
    if (text.trim() === '' || !hit || hit.op_id === null) return;
    onPick(hit.op_id);
    setTyped('');
    setTurn((count) => count + 1);
  };
  const type = (text: string) => {
    setTyped(text);
    // Several letters at once: one of the suggestions was chosen.
    if (text.length - typed.length > 1 && names.includes(text)) void take(text);
  };
  return (
    <Field
      key={turn}
      name="pick"
      label={isFirst ? 'Op' : 'Add an op'}
      hint="loss, linear1, …"
      value=""
      suggested={names}
      onType={type}
      onTake={(text) => void take(text)}
    />
  );
}

function Presets({ preset }: { preset: Preset | null }) {
  const names: [Preset, string][] = [
    ['loss', 'Loss'],
    ['gradients', 'Gradient norm by module'],
  ];
  return (
    <>
      {names.map(([name, text]) => (
        <button
          key={name}
          type="button"
          aria-pressed={preset === name}
          onClick={() =>
            change({ preset: preset === name ? null : name, op: null, slot: null, with: null, at: null, key: null, module: null })
          }
        >
          {text}
        </button>
      ))}
    </>
  );
}

// The ops in the chart, each with a button that takes it away.
function Shown({ place, shown, answer }: { place: Place; shown: Chosen; answer: SeriesAnswer | null }) {
  const ops = new Map((answer?.series ?? []).map((series) => [series.op_id, series.op]));
  if (ops.size < 2) {
    return <h2 class="op-name">{[...ops.values()][0]}</h2>;
  }
  return (
    <p class="shown-ops">
      {[...ops].map(([op, name]) => (
        <button key={op} type="button" class="chip" title={`Take ${name} out of the chart`} onClick={() => removeOp(place, shown, op)}>
          {name} ×
        </button>
      ))}
    </p>
  );
}

const NOTHING: Record<Preset, string> = {
  loss: 'This dump does not name the loss. Type the name of an op to see its curve.',
  gradients: 'This dump has no gradients of parameters: no backward pass was captured.',
};

function recordAt(curves: Curve[], step: number): number | undefined {
  const curve = curves.find((one) => one.steps.includes(step));
  return curve?.records[curve.steps.indexOf(step)];
}

function chartNote(gaps: number[], logarithmic: boolean, calls: number, byCall: boolean, key: string, left: number): string {
  const parts = ['Red: NaN or Inf.'];
  if (gaps.length > 0) parts.push('Grey: steps that were not captured.');
  if (calls > 1 && !byCall) parts.push(`An op ran up to ${calls} times in a step: each point is ${ofCalls(key)}.`);
  if (left > 0) parts.push(`${left} more curves are not drawn.`);
  if (logarithmic) parts.push('Of the logarithm, absolute values; zeros are left out.');
  parts.push('Drag over steps to zoom, double click for all; click a step to choose it.');
  return parts.join(' ');
}

export function StepsView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const trends = useAnswer<TrendsAnswer>(pathOf('/api/trends', { dump: which }));
  const shown = useOp(place, which, trends.value?.trends ?? []);
  const { op, slot } = shown;
  const preset = presetOf(place);
  const key = preset ? PRESET_KEY[preset] : (place.parameters.get('key') ?? 'absmax');
  const logarithmic = place.parameters.get('log') === '1';
  const byCall = place.parameters.get('calls') === '1';
  const chosen = numberOf(place, 'at');
  const series = useSeries(place, which, shown, key);
  const calls = useMemo(() => mostCalls(series.value?.series ?? []), [series.value]);
  const all = useMemo(() => curvesOf(series.value?.series ?? [], key, byCall), [series.value, key, byCall]);
  const only = preset === 'gradients' ? (place.parameters.get('module') ?? '') : '';
  const wanted = useMemo(() => all.filter((curve) => curve.name.toLowerCase().includes(only.toLowerCase())), [all, only]);
  const curves = useMemo(() => wanted.slice(0, MOST_CURVES), [wanted]);
  const gaps = useMemo(() => series.value?.gaps ?? [], [series.value]);
  const record = chosen === null ? undefined : recordAt(curves, chosen);
  const [hovered, setHovered] = useState<number | null>(null);
  const last = curves[0]?.steps[curves[0].steps.length - 1] ?? null;
  const dump = answer.dumps[which === 'b' ? 1 : 0] ?? answer.dumps[0];
  return (
    <div class="steps-view">
      <Trends trends={trends.value} which={which} op={preset ? undefined : series.value?.series[0]?.op} />
      <main class="steps-main">
        <div class="toolbar" role="toolbar" aria-label="Curves">
          <OpPicker which={which} isFirst={op === null} onPick={(picked) => addOp(place, shown, picked)} />
          <Presets preset={preset} />
          {preset === 'gradients' && (
            <Field
              name="module"
              label="Module"
              hint="all"
              value={only}
              suggested={all.map((curve) => curve.name)}
              onType={() => undefined}
              onTake={(text) => change({ module: text.trim() || null })}
            />
          )}
          {!preset && (
            <Choice label="Show" value={key} options={KEYS} onChange={(value) => change({ key: value === 'absmax' ? null : value })} />
          )}
          {slot !== '' && (
            <button type="button" class="chip" title="Show all slots" onClick={() => change({ op, slot: null })}>
              {slot} ×
            </button>
          )}
          <label class="check">
            <input type="checkbox" checked={logarithmic} onChange={() => change({ log: logarithmic ? null : '1' })} />
            Logarithmic
          </label>
          {calls > 1 && (
            <label class="check">
              <input type="checkbox" name="calls" checked={byCall} onChange={() => change({ calls: byCall ? null : '1' })} />
              Each call
            </label>
          )}
          <span class="spring" />
          {record !== undefined && (
            <a class="button" href={linkTo('tensor', { record, dump: which })}>
              Tensor of step {chosen}
            </a>
          )}
          {op !== null && (
            <a class="button" href={linkTo('graph', { op, step: chosen, dump: which })}>
              In the graph
            </a>
          )}
        </div>
        <Problem text={series.error ?? trends.error} />
        {preset === 'gradients' ? (
          <h2 class="op-name">Gradient norm by module</h2>
        ) : (
          <Shown place={place} shown={shown} answer={series.value} />
        )}
        {preset && series.value?.series.length === 0 && <p class="empty">{NOTHING[preset]}</p>}
        {only !== '' && all.length > 0 && wanted.length === 0 && <p class="empty">No module is called “{only}”.</p>}
        {op === null && !preset && !trends.loading && (
          <p class="empty">
            {dump.steps.length < 2
              ? 'This dump has one step only.'
              : 'Type the name of an op above, or choose the loss or the gradients, to see the curve over the steps.'}
          </p>
        )}
        {curves.length > 0 && (
          <>
            <Curves curves={curves} step={hovered ?? chosen ?? last} />
            <Chart
              curves={curves}
              gaps={gaps}
              logarithmic={logarithmic}
              chosen={chosen}
              onChoose={(step) => change(preset ? { at: step } : { op, slot: slot || null, at: step }, true)}
              onHover={setHovered}
            />
            <p class="chart-note">{chartNote(gaps, logarithmic, calls, byCall, key, wanted.length - curves.length)}</p>
          </>
        )}
      </main>
    </div>
  );
}
