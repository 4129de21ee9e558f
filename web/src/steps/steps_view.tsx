// How the values of an op change over the steps, and what `find --trends` says about all of them.

import { useMemo, useState } from 'preact/hooks';
import { pathOf } from '../base/api';
import { formatValue, isNonFinite, shortSource } from '../base/format';
import { Choice, Problem } from '../base/parts';
import { change, linkTo, numberOf, type Place } from '../base/place';
import type { DumpAnswer, List, RecordRow, Series, SeriesAnswer, Trend, Which } from '../base/types';
import { useAnswer } from '../base/use_answer';
import { Chart } from './chart';
import { valueAtStep, type Curve } from './chart_model';
import { curveColour } from './chart_paint';

const KEYS: Record<string, string> = {
  absmax: 'largest absolute value',
  l2: 'L2 norm',
  mean: 'mean',
  std: 'standard deviation',
  min: 'min',
  max: 'max',
  zero: 'zeros',
  nan: 'NaN',
};
const MOST_CURVES = 12;

interface TrendsAnswer {
  trends: Trend[];
  judged: number;
  series: number;
}

function nameOf(series: Series, all: Series[]): string {
  const phases = new Set(all.map((one) => one.phase)).size > 1;
  const ranks = new Set(all.map((one) => one.rank)).size > 1;
  return series.slot + (phases ? ` ${series.phase}` : '') + (ranks ? ` rank ${series.rank}` : '');
}

function curvesOf(answer: SeriesAnswer | null, key: string): Curve[] {
  const all = answer?.series ?? [];
  return all.slice(0, MOST_CURVES).map((series) => ({
    name: nameOf(series, all),
    steps: series.steps,
    values: series.keys[key] ?? [],
    records: series.records,
    trends: series.trends ?? [],
  }));
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

function useOp(place: Place, which: Which, trends: Trend[]): { op: number | null; slot: string } {
  const op = numberOf(place, 'op');
  const slot = place.parameters.get('slot') ?? '';
  const first = op === null ? trends[0] : undefined;
  const needsLookup = first !== undefined && first.op_id === undefined;
  const found = useAnswer<List<RecordRow>>(needsLookup ? pathOf('/api/records', { dump: which, step: first.step, limit: 1000 }) : null);
  if (op !== null) return { op, slot };
  if (first?.op_id !== undefined) return { op: first.op_id, slot: slot || first.slot };
  const row = found.value?.items.find((one) => one.op === first?.op);
  return { op: row?.op_id ?? null, slot: slot || (first?.slot ?? '') };
}

function trendText(trend: Trend): string {
  return `${trend.measure} from ${formatValue(trend.from)} to ${formatValue(trend.to)}, since step ${trend.since}`;
}

function Trends({ trends, which, op }: { trends: TrendsAnswer | null; which: Which; op: string | undefined }) {
  return (
    <aside class="trends" aria-label="Trends">
      <h2>Trends</h2>
      {trends && trends.trends.length === 0 && (
        <p>
          None: of {trends.series} series, {trends.judged} are long enough to be judged, and none grows, leaps, vanishes, dies or freezes.
        </p>
      )}
      <ul>
        {trends?.trends.map((trend, i) => (
          <li key={i} class={trend.op === op ? 'trend here' : 'trend'}>
            <a
              href={linkTo('steps', { op: trend.op_id, slot: trend.slot, key: trend.measure in KEYS ? trend.measure : null, dump: which })}
            >
              <span class="trend-kind">{trend.kind}</span>
              <span class="trend-op">
                {trend.op}:{trend.slot}
              </span>
              <span class="trend-text">{trendText(trend)}</span>
              {trend.source && <span class="trend-text">{shortSource(trend.source)}</span>}
            </a>
          </li>
        ))}
      </ul>
    </aside>
  );
}

export function StepsView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const trends = useAnswer<TrendsAnswer>(pathOf('/api/trends', { dump: which }));
  const { op, slot } = useOp(place, which, trends.value?.trends ?? []);
  const key = place.parameters.get('key') ?? 'absmax';
  const logarithmic = place.parameters.get('log') === '1';
  const chosen = numberOf(place, 'at');
  const series = useAnswer<SeriesAnswer>(op === null ? null : pathOf('/api/series', { dump: which, op, slot, key }));
  const curves = useMemo(() => curvesOf(series.value, key), [series.value, key]);
  const gaps = useMemo(() => series.value?.gaps ?? [], [series.value]);
  const name = series.value?.series[0]?.op;
  const record = chosen === null ? undefined : recordAt(curves, chosen);
  const [hovered, setHovered] = useState<number | null>(null);
  const last = curves[0]?.steps[curves[0].steps.length - 1] ?? null;
  const dump = answer.dumps[which === 'b' ? 1 : 0] ?? answer.dumps[0];
  return (
    <div class="steps-view">
      <Trends trends={trends.value} which={which} op={name} />
      <main class="steps-main">
        <div class="toolbar" role="toolbar" aria-label="Curves">
          <Choice label="Show" value={key} options={KEYS} onChange={(value) => change({ key: value === 'absmax' ? null : value })} />
          {slot !== '' && (
            <button type="button" class="chip" title="Show all slots" onClick={() => change({ op, slot: null })}>
              {slot} ×
            </button>
          )}
          <label class="check">
            <input type="checkbox" checked={logarithmic} onChange={() => change({ log: logarithmic ? null : '1' })} />
            Logarithmic
          </label>
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
        {name && <h2 class="op-name">{name}</h2>}
        {op === null && !trends.loading && (
          <p class="empty">
            {dump.steps.length < 2
              ? 'This dump has one step only.'
              : 'Press / to search for an op, and show it over the steps from its panel in the graph.'}
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
              onChoose={(step) => change({ op, slot: slot || null, at: step }, true)}
              onHover={setHovered}
            />
            <p class="chart-note">
              Red: NaN or Inf. {gaps.length > 0 ? 'Grey: steps that were not captured. ' : ''}
              {logarithmic ? 'Of the logarithm, absolute values; zeros are left out. ' : ''}Drag over steps to zoom, double click for all;
              click a step to choose it.
            </p>
          </>
        )}
      </main>
    </div>
  );
}

function recordAt(curves: Curve[], step: number): number | undefined {
  const curve = curves.find((one) => one.steps.includes(step));
  return curve?.records[curve.steps.indexOf(step)];
}
