// What is worth a look in any dump: the largest values, what is closest to the end of its type, the slowest and the biggest.

import type { ComponentChildren } from 'preact';
import { isReport } from '../base/api';
import { counted, formatBytes, formatNumber, formatShape, formatValue, shortSource } from '../base/format';
import { linkTo } from '../base/place';
import type { DumpInfo, Value } from '../base/types';
import { useAnswer } from '../base/use_answer';

interface Line {
  op_id: number | null;
  op: string;
  type: string;
  source: string | null;
}

interface RecordLine extends Line {
  record: number;
  step: number;
  slot: string;
  dtype: string;
  shape: number[];
  bytes: number;
  absmax: Value;
}

interface CloseLine extends RecordLine {
  limit: number;
  // How often the value can double; null: it holds Inf.
  doublings: number | null;
}

interface SlowLine extends Line {
  seconds: number;
  calls: number;
  share: number;
  device: string | null;
}

interface OverviewAnswer {
  largest: RecordLine[];
  closest: CloseLine[];
  biggest: RecordLine[];
  slowest: SlowLine[];
}

function seconds(value: number): string {
  if (value >= 1) return `${formatNumber(value, 3)} s`;
  return value >= 1e-3 ? `${formatNumber(value * 1e3, 3)} ms` : `${formatNumber(value * 1e6, 3)} µs`;
}

function launches(line: SlowLine): string {
  return line.device === null ? '' : `; the time of launches, not of kernels of ${line.device}`;
}

function closeText(line: CloseLine): string {
  if (line.doublings === null) return `Inf in ${line.dtype}`;
  return `${formatValue(line.absmax)}: ${formatNumber(line.doublings, 3)} doublings left in ${line.dtype}`;
}

function List<Item extends Line>({
  title,
  lines,
  link,
  text,
}: {
  title: string;
  lines: Item[];
  link(line: Item): string;
  text(line: Item): ComponentChildren;
}) {
  if (lines.length === 0) return null;
  return (
    <section class="card overview-card" aria-label={title}>
      <h2>{title}</h2>
      <ol class="overview-list">
        {lines.map((line, i) => (
          <li key={i}>
            <a href={link(line)} title={line.source ? `${line.op}, ${shortSource(line.source)}` : line.op}>
              <bdi>{line.op}</bdi>
            </a>
            <span>{text(line)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface Missing {
  count: number;
  reason: string;
}

function NotCaptured({ dump }: { dump: DumpInfo }) {
  const ops = (dump.coverage?.ops ?? null) as {
    registered: number;
    captured: number;
    not_wanted?: number;
    not_captured?: Missing[];
  } | null;
  if (!ops) return null;
  const missing = ops.not_captured ?? [];
  const unwanted = ops.not_wanted ?? 0;
  const lost = dump.losses.reduce((sum, loss) => sum + loss.count, 0);
  return (
    <section class="card overview-card" aria-label="What was not captured">
      <h2>What was not captured</h2>
      {ops.registered === 0 ? (
        <p>No op was registered.</p>
      ) : missing.length === 0 && unwanted === 0 && lost === 0 ? (
        <p>Nothing: all {counted(ops.registered, 'op')} were captured.</p>
      ) : (
        <ol class="overview-list">
          {unwanted > 0 && (
            <li>
              <span>not asked for</span>
              <span>{counted(unwanted, 'op')}</span>
            </li>
          )}
          {dump.losses.map((loss) => (
            <li key={loss.reason}>
              <span>{loss.reason}</span>
              <span>{counted(loss.count, 'record')}</span>
            </li>
          ))}
          {missing.map((one) => (
            <li key={one.reason}>
              <span>{one.reason}</span>
              <span>{counted(one.count, 'op')}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

export function Overview({ dump }: { dump: DumpInfo }) {
  const answer = useAnswer<OverviewAnswer>(isReport() ? null : '/api/overview').value;
  const record = (line: RecordLine) => linkTo('tensor', { record: line.record });
  const op = (line: SlowLine) => linkTo('graph', { op: line.op_id });
  return (
    <div class="overview">
      {answer && (
        <>
          <List
            title="Largest values"
            lines={answer.largest}
            link={record}
            text={(line) => `${formatValue(line.absmax)} in ${line.slot} of step ${line.step}`}
          />
          <List title="Closest to the limit of their type" lines={answer.closest} link={record} text={closeText} />
          <List
            title="Slowest ops"
            lines={answer.slowest}
            link={op}
            text={(line) =>
              `${seconds(line.seconds)} in ${counted(line.calls, 'call')}, ${formatNumber(line.share * 100, 2)} % of all${launches(line)}`
            }
          />
          <List
            title="Biggest tensors"
            lines={answer.biggest}
            link={record}
            text={(line) => `${formatBytes(line.bytes)}: ${line.dtype} ${formatShape(line.shape)}`}
          />
        </>
      )}
      <NotCaptured dump={dump} />
    </div>
  );
}
