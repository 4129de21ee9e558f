// A program that still runs: its records, its overhead, and the capture from the next step on.

import { useEffect, useState } from 'preact/hooks';
import { get, pathOf, post } from '../base/api';
import { formatCount, formatShape, formatValue, isNonFinite } from '../base/format';
import { Problem } from '../base/parts';
import { linkTo } from '../base/place';
import type { DumpAnswer, List, RecordRow } from '../base/types';
import { messageOf } from '../base/use_answer';
import { sampleOf, Sparkline, type Sample } from './sparkline';

const NEWEST = 200;

const OFTEN = 500;
const MOST_SAMPLES = 240;
const HIDDEN = 5000;

interface LiveAnswer {
  records: number;
  state: Record<string, unknown> | null;
}

interface Reply {
  accepted: boolean;
  reason: string | null;
  from_step: number | null;
  // The step from which on the plan before counts again.
  back_at: number | null;
}

type State = Record<string, unknown> | null;

interface Live {
  state: State;
  total: number;
  rows: RecordRow[];
  error: string | null;
  // The last minutes: records at each time.
  history: Sample[];
}

// Keeps the last known state of a program that has ended.
function known(old: State, now: State): State {
  return now?.state === 'ended' ? { ...old, ...now } : now;
}

// Asks again and again. An event stream would keep a connection for each tab, of which a browser has six.
function useLive(): Live {
  const [live, setLive] = useState<Live>({ state: null, total: 0, rows: [], error: null, history: [] });
  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    let shown = -1;
    const load = async () => {
      const { records, state } = await get<LiveAnswer>('/api/live/state', controller.signal);
      if (records !== shown) {
        const from = Math.max(0, records - NEWEST);
        const list = await get<List<RecordRow>>(pathOf('/api/records', { from, limit: NEWEST }), controller.signal);
        setLive((old) => ({ ...old, state: known(old.state, state), total: list.total, rows: list.items.reverse(), error: null }));
      } else {
        setLive((old) => ({ ...old, state: known(old.state, state), error: null }));
      }
      shown = records;
      if (state?.state !== 'ended')
        setLive((old) => ({ ...old, history: [...old.history.slice(1 - MOST_SAMPLES), sampleOf(state, records)] }));
      return state?.state === 'ended';
    };
    const ask = async () => {
      let ended = false;
      try {
        ended = await load();
      } catch (problem) {
        if (controller.signal.aborted) return;
        setLive((old) => ({ ...old, error: messageOf(problem) }));
      }
      if (!ended && !controller.signal.aborted) timer = window.setTimeout(() => void ask(), document.hidden ? HIDDEN : OFTEN);
    };
    void ask();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, []);
  return live;
}

function Facts({ live }: { live: Live }) {
  const state = live.state ?? {};
  const overhead = state.overhead;
  const steps = state.steps as { seen: number; captured: number } | undefined;
  const facts: [string, string][] = [
    ['records', formatCount(live.total)],
    ['steps seen', steps ? formatCount(steps.seen) : ''],
    ['steps captured', steps ? formatCount(steps.captured) : ''],
    ['capture', state.state === 'ended' ? 'ended' : state.on === false ? 'paused' : 'on'],
    ['overhead so far', typeof overhead === 'number' ? `${(100 * (overhead - 1)).toFixed(1)} %` : 'not measured'],
    ['process', formatValue(state.pid)],
  ];
  return (
    <div class="live-facts" role="status">
      {facts.map(([name, value]) => (
        <div key={name}>
          <b>{value || '–'}</b>
          <span>{name}</span>
        </div>
      ))}
    </div>
  );
}

interface Note {
  text: string;
  isBad: boolean;
}

// Describes an accepted change.
function takenText(reply: Reply, done: string): string {
  const from = reply.from_step;
  if (from === null || from === undefined) return done;
  if (reply.back_at === null || reply.back_at === undefined) return `${done} from step ${from} on`;
  const steps = reply.back_at - 1 > from ? `steps ${from} to ${reply.back_at - 1}` : `step ${from}`;
  return `${done} of ${steps}; from step ${reply.back_at} on the capture goes on as before`;
}

function useControls() {
  const [note, setNote] = useState<Note | null>(null);
  const send = async (body: unknown, done: string) => {
    try {
      const reply = await post<Reply>('/api/live/set', body);
      setNote(reply.accepted ? { text: takenText(reply, done), isBad: false } : { text: reply.reason ?? 'refused', isBad: true });
    } catch (problem) {
      setNote({ text: messageOf(problem), isBad: true });
    }
  };
  return { note, send };
}

function Controls({ isOn }: { isOn: boolean }) {
  const [where, setWhere] = useState('');
  const { note, send } = useControls();
  const keep = () => send({ config: { where } }, where.trim() === '' ? 'All records are kept' : `Kept where ${where},`);
  return (
    <>
      <div class="toolbar" role="toolbar" aria-label="Capture">
        {isOn ? (
          <button type="button" onClick={() => void send({ on: false }, 'Paused')}>
            Pause the capture
          </button>
        ) : (
          <button type="button" onClick={() => void send({ on: true }, 'Going on')}>
            Go on
          </button>
        )}
        <button
          type="button"
          onClick={() => void send({ config: { payload: 'full' }, steps: 'now', then: 'back' }, 'Tensors and statistics')}
        >
          One step with its tensors
        </button>
        <label class="field wide">
          <span>Keep only where</span>
          <input
            name="watch"
            value={where}
            placeholder="nan > 0 or absmax > 6e4"
            spellcheck={false}
            onInput={(event) => setWhere(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && void keep()}
          />
        </label>
        <button type="button" onClick={() => void keep()}>
          Apply
        </button>
        {note && !note.isBad && (
          <span class="count" role="status">
            {note.text}
          </span>
        )}
      </div>
      {note?.isBad && <Problem text={note.text} />}
    </>
  );
}

export function LiveView({ answer }: { answer: DumpAnswer }) {
  const live = useLive();
  const hasEnded = live.state?.state === 'ended';
  return (
    <div class="live-view">
      <div class="live-head">
        <Facts live={live} />
        <Sparkline samples={live.history} />
      </div>
      {hasEnded ? (
        <p class="live-ended" role="status">
          The program has ended. Its records stay here. Its capture cannot be changed any more.
        </p>
      ) : (
        <Controls isOn={live.state?.on !== false} />
      )}
      <Problem text={live.error} />
      <div class="list" tabIndex={0} aria-label={`Newest records of ${answer.dumps[0].name}`}>
        <table class="records live-records">
          <thead>
            <tr>
              <th>step</th>
              <th>op</th>
              <th>slot</th>
              <th>shape</th>
              <th class="number">min</th>
              <th class="number">max</th>
              <th class="number">NaN</th>
            </tr>
          </thead>
          <tbody>
            {live.rows.map((row) => (
              <tr key={row.record ?? row.row}>
                <td>{row.step}</td>
                <td>
                  <a href={linkTo('tensor', { record: row.record ?? row.row })}>{row.op}</a>
                </td>
                <td>{row.slot}</td>
                <td class="shape">{formatShape(row.shape)}</td>
                <td class={isNonFinite(row.min) ? 'number bad' : 'number'}>{formatValue(row.min)}</td>
                <td class={isNonFinite(row.max) ? 'number bad' : 'number'}>{formatValue(row.max)}</td>
                <td class={Number(row.nan) > 0 ? 'number bad' : 'number'}>{formatValue(row.nan)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {live.rows.length === 0 && <p class="empty">No record yet.</p>}
      </div>
    </div>
  );
}
