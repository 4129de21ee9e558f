// How the values of a tensor are spread.

import { formatCount, formatNumber, numberFrom } from '../base/format';
import type { Histogram } from '../base/types';

const WIDTH = 640;
const HEIGHT = 110;

export function Bars({ counts, title }: { counts: number[]; title(index: number): string }) {
  const most = Math.max(1, ...counts);
  const width = WIDTH / counts.length;
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label="Histogram">
      {counts.map((count, i) => {
        // A bar with elements is always visible, however low.
        const height = count === 0 ? 0 : Math.max(1.5, (count / most) * HEIGHT);
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

export function HistogramView({ histogram }: { histogram: Histogram }) {
  const bins = histogram.counts.length;
  const extra: [string, number, boolean][] = [
    ['zero', histogram.zero, false],
    ['NaN', histogram.nan, true],
    ['+Inf', histogram.pos_inf, true],
    ['-Inf', histogram.neg_inf, true],
  ];
  return (
    <section class="histogram" aria-label="Distribution">
      <h3>
        Distribution
        <span class="histogram-kind">{histogram.kind === 'exponent' ? 'by exponent, of absolute values' : 'linear'}</span>
      </h3>
      {bins > 0 && (
        <>
          <Bars
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
