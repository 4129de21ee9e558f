// How the values of a tensor are spread.

import { useState } from 'preact/hooks';
import { formatCount, formatNumber, numberFrom } from '../base/format';
import { Choice } from '../base/parts';
import type { Histogram } from '../base/types';

const WIDTH = 640;
const HEIGHT = 110;

// With `logarithmic` few elements in a bin are to be seen beside very many in another.
export function Bars({ counts, title, logarithmic = false }: { counts: number[]; title(index: number): string; logarithmic?: boolean }) {
  const size = (count: number) => (logarithmic ? Math.log1p(count) : count);
  const most = size(Math.max(1, ...counts));
  const width = WIDTH / counts.length;
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Histogram">
      {counts.map((count, i) => {
        // A bar with elements is always visible, however low.
        const height = count === 0 ? 0 : Math.max(1.5, (size(count) / most) * HEIGHT);
        return (
          <rect key={i} x={i * width + 0.5} y={HEIGHT - height} width={Math.max(width - 1, 0.8)} height={height}>
            <title>{title(i)}</title>
          </rect>
        );
      })}
    </svg>
  );
}

function edgeText(histogram: Histogram, index: number): string {
  const edge = numberFrom(histogram.edges[Math.min(index, histogram.edges.length - 1)]);
  return formatNumber(edge, 3);
}

const BY = { value: 'values', magnitude: 'absolute values, logarithmic' };

interface HistogramProperties {
  histogram: Histogram;
  by: string;
  // Missing where the dump has one kind alone.
  onBy?(by: string): void;
}

export function HistogramView({ histogram, by, onBy }: HistogramProperties) {
  const [logarithmic, setLogarithmic] = useState(false);
  const bins = histogram.counts.length;
  const extra: [string, number, boolean][] = [
    ['zero', histogram.zero, false],
    ['NaN', histogram.nan, true],
    ['+Inf', histogram.pos_inf, true],
    ['-Inf', histogram.neg_inf, true],
  ];
  return (
    <section class="histogram" aria-label="Distribution">
      <h2>
        Distribution
        <span class="histogram-kind">{histogram.kind === 'exponent' ? 'by exponent, of absolute values' : 'linear'}</span>
      </h2>
      {bins > 0 && (
        <>
          <div class="histogram-choices">
            {onBy && <Choice label="Of" value={by} options={BY} onChange={onBy} />}
            <label class="check">
              <input type="checkbox" checked={logarithmic} onChange={() => setLogarithmic(!logarithmic)} />
              logarithmic counts
            </label>
          </div>
          <Bars
            logarithmic={logarithmic}
            counts={histogram.counts}
            title={(i) => `${edgeText(histogram, i)} to ${edgeText(histogram, i + 1)}: ${formatCount(histogram.counts[i])}`}
          />
          <div class="legend-ends">
            <span>{edgeText(histogram, 0)}</span>
            <span>{edgeText(histogram, bins >> 1)}</span>
            <span>{edgeText(histogram, bins)}</span>
          </div>
        </>
      )}
      <p class="histogram-counts">
        {extra
          .filter(([, count]) => count > 0)
          .map(([name, count, isBad]) => (
            <span key={name} class={isBad ? 'bad' : ''}>
              {name} {formatCount(count)}
            </span>
          ))}
      </p>
    </section>
  );
}
