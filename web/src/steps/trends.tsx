// What `find --trends` says about all series, beside the curves.

import { formatValue, shortSource } from '../base/format';
import { linkTo } from '../base/place';
import type { Trend, Which } from '../base/types';

export const KEYS: Record<string, string> = {
  absmax: 'largest absolute value',
  l2: 'L2 norm',
  mean: 'mean',
  std: 'standard deviation',
  min: 'min',
  max: 'max',
  zero: 'zeros',
  nan: 'NaN',
};

function trendText(trend: Trend): string {
  return `${trend.measure} from ${formatValue(trend.from)} to ${formatValue(trend.to)}, since step ${trend.since}`;
}

interface Properties {
  trends: { trends: Trend[]; judged: number; series: number } | null;
  which: Which;
  op: string | undefined;
}

export function Trends({ trends, which, op }: Properties) {
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
