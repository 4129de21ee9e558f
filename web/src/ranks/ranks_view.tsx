// A job: what is wrong with which rank, in words; ranks by steps as a picture; and the way to each rank. Of a job without ranks: its processes.

import { useEffect, useState } from 'preact/hooks';
import { get } from '../base/api';
import { counted, formatCount, formatValue } from '../base/format';
import { Loading, Problem } from '../base/parts';
import type { Place } from '../base/place';
import type { RankAnswer, RankSentence, RanksAnswer, RanksReport } from '../base/types';
import { messageOf } from '../base/use_answer';
import { MapView } from './map_view';

const AGAIN = 500;

function useRanks(): { answer: RanksAnswer | null; error: string | null } {
  const [state, setState] = useState<{ answer: RanksAnswer | null; error: string | null }>({ answer: null, error: null });
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async () => {
      try {
        const answer = await get<RanksAnswer>('/api/ranks?wait=no');
        if (gone) return;
        setState({ answer, error: null });
        if (answer.state === 'running') timer = window.setTimeout(() => void ask(), AGAIN);
      } catch (problem) {
        if (!gone) setState({ answer: null, error: messageOf(problem) });
      }
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return state;
}

function Said({ one }: { one: RankSentence }) {
  return one.link ? <a href={one.link}>{one.text}</a> : <span>{one.text}</span>;
}

function Finding({ answer }: { answer: RankAnswer }) {
  const kind = !answer.wrong ? 'note' : /NaN/.test(answer.question) ? 'bad' : 'warn';
  const question = answer.question.replace(/^./, (letter) => letter.toUpperCase());
  return (
    <li class={`finding ${kind}`}>
      <span class="finding-kind">{question}</span>
      <span class="finding-text">
        <Said one={answer} />
        {answer.examples.length > 0 && (
          <ul class="rank-examples">
            {answer.examples.map((one, i) => (
              <li key={i}>
                <Said one={one} />
              </li>
            ))}
          </ul>
        )}
      </span>
    </li>
  );
}

function spanText(first: number | null, last: number | null): string {
  return first === null ? 'none' : first === last ? String(first) : `${first}–${last}`;
}

function RankList({ answer, report }: { answer: RanksAnswer; report: RanksReport }) {
  const distances = new Map(report.apart.distances.map((one) => [one.rank, one.distance]));
  const apart = new Set(report.apart.ranks.map((one) => one.rank));
  const last = Math.max(...report.progress.map((one) => one.last ?? -Infinity));
  return (
    <table class="records rank-list">
      <thead>
        <tr>
          <th>Rank</th>
          <th class="number">Records</th>
          <th class="number">Steps</th>
          <th class="number">Lost</th>
          {distances.size > 0 && <th class="number">From the median</th>}
        </tr>
      </thead>
      <tbody>
        {report.ranks.map((one, i) => (
          <tr key={one.rank}>
            <td>
              {answer.dumps
                .filter((dump) => dump.ranks.includes(one.rank))
                .map((dump, place) => (
                  <a key={dump.number} href={`/dump/${dump.number}/#start`} title={dump.role ? `${dump.name}: ${dump.role}` : dump.name}>
                    {place === 0 ? `rank ${one.rank}` : `, ${place + 1}`}
                  </a>
                ))}
            </td>
            <td class="number">{formatCount(one.records)}</td>
            <td class={report.progress[i].last === last ? 'number' : 'number bad'}>
              {spanText(report.progress[i].first, report.progress[i].last)}
            </td>
            <td class={report.coverage[i].lost ? 'number bad' : 'number'}>{formatValue(report.coverage[i].lost) || '?'}</td>
            {distances.size > 0 && (
              <td class={apart.has(one.rank) ? 'number apart' : 'number'}>{formatValue(distances.get(one.rank), 3)}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function PartsView({ answer, job }: { answer: RanksAnswer; job: string }) {
  const worst = [...answer.parts].sort((a, b) => Number(b.finds) - Number(a.finds) || Number(b.incomplete) - Number(a.incomplete));
  return (
    <div class="start-view ranks-view">
      <main>
        <h1>{answer.summary}</h1>
        <ol class="findings">
          {worst.map((one) => (
            <li key={one.number}>
              <a class={`finding ${one.finds ? 'bad' : one.incomplete ? 'warn' : 'note'}`} href={one.link}>
                <span class="finding-kind">{one.part}</span>
                <span class="finding-text">{one.text}</span>
              </a>
            </li>
          ))}
        </ol>
      </main>
      <div class="start-side">
        <section class="card" aria-label="The processes">
          <h2>The processes</h2>
          <p>
            <span class="path">{job}</span>
          </p>
          <table class="records rank-list">
            <thead>
              <tr>
                <th>Part</th>
                <th>Process</th>
                <th class="number">Records</th>
              </tr>
            </thead>
            <tbody>
              {answer.parts.map((one) => (
                <tr key={one.number}>
                  <td>
                    <a href={one.link}>{one.part}</a>
                  </td>
                  <td class="path">{one.role ?? '?'}</td>
                  <td class="number">{one.records === null ? '?' : formatCount(one.records)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </div>
    </div>
  );
}

// The heading does not clear questions that were not judged.
function allClear(answers: RankAnswer[]): string {
  const open = answers.filter((one) => /^(not judged|nothing to judge|the dumps do not say)/.test(one.text)).length;
  return open === 0 ? 'Nothing is wrong in this job' : `Nothing was found; ${counted(open, 'question')} could not be judged`;
}

export function RanksView({ place, job }: { place: Place; job: string }) {
  const { answer, error } = useRanks();
  if (error) return <Problem text={error} />;
  if (!answer) return <Loading />;
  if (answer.state === 'failed') return <Problem text={answer.error} />;
  const report = answer.report;
  if (answer.state === 'ready' && answer.parts.length > 0) return <PartsView answer={answer} job={job} />;
  if (!report) {
    return (
      <div class="empty">
        <p class="loading" role="status">
          Looking through {counted(answer.dumps.length, 'dump')} …
        </p>
        <progress value={answer.done} max={Math.max(1, answer.all)} />
      </div>
    );
  }
  const wrong = answer.answers.filter((one) => one.wrong);
  const fine = answer.answers.filter((one) => !one.wrong);
  return (
    <div class="start-view ranks-view">
      <main>
        <h1>{wrong.length > 0 ? 'What is wrong in this job' : allClear(fine)}</h1>
        {answer.troubles.map((trouble) => (
          <p key={trouble} class="problem">
            {trouble}
          </p>
        ))}
        <ol class="findings">
          {[...wrong, ...fine].map((one) => (
            <Finding key={one.question} answer={one} />
          ))}
        </ol>
      </main>
      <div class="start-side">
        <section class="card" aria-label="Ranks by steps">
          <h2>Ranks by steps</h2>
          <MapView map={report.map} dumps={answer.dumps} place={place} />
        </section>
        <section class="card" aria-label="The job">
          <h2>The job</h2>
          <p>
            <span class="path">{job}</span>: {answer.summary}
          </p>
          <RankList answer={answer} report={report} />
        </section>
      </div>
    </div>
  );
}
