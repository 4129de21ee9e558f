// One tensor in both dumps: how far they are apart, and where.

import { get, pathOf } from '../base/api';
import { formatCount, formatShape, formatValue, isNonFinite } from '../base/format';
import { Loading, Problem, verdictKind } from '../base/parts';
import { change, linkTo, numberOf, type Place } from '../base/place';
import type { Pair } from '../base/types';
import { useKept, useLoaded } from '../base/use_answer';
import { Bars } from '../tensor/histogram';
import { parseAt } from '../tensor/slice_model';
import { SliceView } from '../tensor/slice_view';

const VIEWS: Record<string, string> = { difference: 'A − B', a: 'A', b: 'B', ulp: 'ULP' };
const MEASURES: [string, string][] = [
  ['error', 'error'],
  ['tolerance', 'tolerance'],
  ['birth', 'birth'],
  ['growth', 'growth'],
  ['noise', 'noise'],
  ['max_abs', 'max absolute'],
  ['max_rel', 'max relative'],
  ['mean_abs', 'mean absolute'],
  ['rmse', 'RMSE'],
  ['relative_l2', 'relative L2'],
  ['cosine', 'cosine'],
  ['snr_db', 'SNR (dB)'],
  ['max_ulp', 'max ULP'],
  ['compared', 'values'],
  ['differing', 'differ'],
  ['outside', 'outside'],
  ['nonfinite_differing', 'NaN, Inf differ'],
];

function Measures({ pair }: { pair: Pair }) {
  return (
    <dl class="statistics">
      {MEASURES.filter(([key]) => pair[key] !== null && pair[key] !== undefined && typeof pair[key] !== 'object').map(([key, name]) => (
        <div key={key}>
          <dt>{name}</dt>
          <dd class={isNonFinite(pair[key]) && key !== 'snr_db' ? 'number bad' : 'number'} title={String(pair[key])}>
            {formatValue(pair[key])}
          </dd>
        </div>
      ))}
    </dl>
  );
}

// Bin 0 is "equal", bin k holds the differences from 2^(k-1) to 2^k - 1 units in the last place.
function ulpText(bin: number): string {
  if (bin === 0) return 'equal';
  return bin === 1 ? '1 ULP' : `${2 ** (bin - 1)} to ${2 ** bin - 1} ULP`;
}

export function PairView({ place }: { place: Place }) {
  const number = numberOf(place, 'pair') ?? 0;
  const loaded = useLoaded(pathOf(`/api/pair/${number}`, {}), async (asked, signal) => ({ number, pair: await get<Pair>(asked, signal) }));
  const shown = loaded.value;
  const view = useKept(shown?.number === number, () => shown && <ShownPair key={number} {...shown} place={place} />);
  return loaded.error ? <Problem text={loaded.error} /> : (view ?? <Loading />);
}

function ShownPair({ number, pair, place }: { number: number; pair: Pair; place: Place }) {
  const view = place.parameters.get('view') ?? 'difference';
  const isSame = pair.shape_a?.join() === pair.shape_b?.join();
  return (
    <div class="tensor-view">
      <aside class="tensor-side" aria-label="Pair">
        <h1 class="op-name">{pair.a}</h1>
        {pair.a !== pair.b && <p class="path">B: {pair.b}</p>}
        <dl class="facts">
          <dt>Verdict</dt>
          <dd class={verdictKind(pair.verdict)}>{pair.verdict}</dd>
          <dt>A</dt>
          <dd>
            {pair.type_a}, step {pair.step_a}, {pair.dtype_a} <span class="shape">{formatShape(pair.shape_a)}</span>
          </dd>
          <dt>B</dt>
          <dd>
            {pair.type_b}, step {pair.step_b}, {pair.dtype_b} <span class="shape">{formatShape(pair.shape_b)}</span>
          </dd>
          <dt>Paired by</dt>
          <dd>{String(pair.rule ?? '')}</dd>
        </dl>
        <nav class="actions">
          <a href={linkTo('graph', { op: pair.op_a, heat: 'error', flow: pair.record_a, way: 'error' })}>The way of the error</a>
          <a href={linkTo('tensor', { record: pair.record_a })}>Tensor of A</a>
          <a href={linkTo('tensor', { record: pair.record_b, dump: 'b' })}>Tensor of B</a>
        </nav>
        <Measures pair={pair} />
        {pair.ulp_histogram?.some((count) => count > 0) && (
          <section class="histogram">
            <h2>Distance in units in the last place</h2>
            <Bars counts={pair.ulp_histogram} title={(bin) => `${ulpText(bin)}: ${formatCount(pair.ulp_histogram[bin])}`} />
            <div class="legend-ends">
              <span>equal</span>
              <span>{ulpText(pair.ulp_histogram.length - 1).replace(/ to .*/, ' and more')}</span>
            </div>
          </section>
        )}
      </aside>
      <main class="tensor-main">
        <div class="tabs" role="tablist" aria-label="Values of">
          {Object.entries(VIEWS).map(([key, name]) => (
            <button
              key={key}
              type="button"
              role="tab"
              aria-selected={view === key}
              onClick={() => change({ view: key === 'difference' ? null : key }, true)}
            >
              {name}
            </button>
          ))}
        </div>
        {isSame || view === 'a' ? (
          <SliceView
            shape={pair.shape_a}
            at={parseAt(place.parameters.get('at'), pair.shape_a)}
            zoom={place.parameters.get('zoom')}
            mayBeBad
            source={{
              address: `/api/pair/${number}/slice`,
              findAddress: `/api/pair/${number}/find`,
              parameters: { of: view },
              dtype: view === 'a' ? pair.dtype_a : view === 'b' ? pair.dtype_b : null,
              jumps: { difference: 'First difference', nonfinite: 'First NaN or Inf', largest: 'Largest' },
            }}
          />
        ) : (
          <p class="empty">The shapes differ, so the values cannot be laid beside each other.</p>
        )}
      </main>
    </div>
  );
}
