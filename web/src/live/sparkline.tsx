// Records in each second of the last minutes, as a small curve.

import { formatCount } from '../base/format';

export interface Sample {
  seconds: number;
  records: number;
  steps: number;
}

export function sampleOf(state: Record<string, unknown> | null, records: number): Sample {
  const steps = (state?.steps as { seen: number } | undefined)?.seen ?? 0;
  return { seconds: performance.now() / 1000, records, steps };
}

const WIDTH = 240;
const HEIGHT = 40;

// Between each two samples: what came, in one second.
function rates(samples: Sample[], of: 'records' | 'steps'): number[] {
  const found: number[] = [];
  for (let i = 1; i < samples.length; i++) {
    const passed = samples[i].seconds - samples[i - 1].seconds;
    found.push(passed > 0 ? Math.max(0, samples[i][of] - samples[i - 1][of]) / passed : 0);
  }
  return found;
}

// The dump is opened again once a second, so single samples leap: three of them together do not.
function smooth(values: number[]): number[] {
  return values.map((_, i) => {
    const near = values.slice(Math.max(0, i - 2), i + 1);
    return near.reduce((sum, value) => sum + value, 0) / near.length;
  });
}

function rate(value: number): string {
  return value >= 10 ? formatCount(Math.round(value)) : value.toFixed(1);
}

export function Sparkline({ samples }: { samples: Sample[] }) {
  const values = smooth(rates(samples, 'records'));
  if (values.length < 2) return null;
  const most = Math.max(...values, 1e-9);
  const x = (i: number) => ((i / (values.length - 1)) * WIDTH).toFixed(1);
  const y = (value: number) => (HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1);
  const points = values.map((value, i) => `${x(i)},${y(value)}`).join(' ');
  const steps = smooth(rates(samples, 'steps'));
  const text = `${rate(values[values.length - 1])} records and ${rate(steps[steps.length - 1])} steps in a second`;
  return (
    <figure class="sparkline">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`Over the last minutes: ${text} now`}>
        <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
        <polyline points={points} />
      </svg>
      <figcaption>{text}</figcaption>
    </figure>
  );
}
