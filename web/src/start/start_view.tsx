// The first thing that is seen: what is wrong, in words, each sentence a link to the place; and what the dump holds.

import type { ComponentChildren } from 'preact';
import { counted, formatBytes, formatSteps, formatVerdicts } from '../base/format';
import { linkTo } from '../base/place';
import { Overview } from './overview';
import type { CompareState, DumpAnswer, DumpInfo, Sentence } from '../base/types';

const KINDS: Record<string, { word: string; level: string }> = {
  nonfinite: { word: 'NaN or Inf', level: 'bad' },
  origin: { word: 'Origin', level: 'bad' },
  parted: { word: 'First difference', level: 'warn' },
  born: { word: 'Error born here', level: 'warn' },
  given: { word: 'Weights, inputs', level: 'warn' },
  compare: { word: 'Comparison', level: 'note' },
  losses: { word: 'Not recorded', level: 'warn' },
  headroom: { word: 'Headroom', level: 'note' },
  trend: { word: 'Trend', level: 'warn' },
  coverage: { word: 'Coverage', level: 'note' },
  unsure: { word: 'NaN or Inf', level: 'warn' },
  plain: { word: 'NaN or Inf', level: 'note' },
};

function Finding({ sentence, first }: { sentence: Sentence; first: boolean }) {
  const kind = KINDS[sentence.kind] ?? KINDS.plain;
  const body = (
    <>
      <span class="finding-kind">{kind.word}</span>
      <span class="finding-text">{sentence.text}</span>
      {sentence.link && <span class="finding-go">{first && kind.level === 'bad' ? 'Show it in the graph →' : '→'}</span>}
    </>
  );
  const look = `finding ${kind.level}${first ? ' first' : ''}`;
  return (
    <li>
      {sentence.link ? (
        <a class={look} href={sentence.link}>
          {body}
        </a>
      ) : (
        <div class={look}>{body}</div>
      )}
    </li>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function overheadText(overhead: unknown): string | null {
  if (typeof overhead === 'number') return `${(100 * (overhead - 1)).toFixed(1)} %`;
  if (typeof overhead === 'string') return overhead;
  return null;
}

function DumpFacts({ dump, title, which }: { dump: DumpInfo; title: string; which: 'a' | 'b' }) {
  const overhead = overheadText(dump.overhead);
  const lost = dump.losses.reduce((sum, loss) => sum + loss.count, 0);
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <dl class="facts">
        <Fact name="Folder">
          <span class="path">{dump.name}</span>
        </Fact>
        {dump.source && <Fact name="Source">{dump.source}</Fact>}
        {dump.program && (
          <Fact name="Program">
            <span class="path">{dump.program}</span>
          </Fact>
        )}
        <Fact name="Records">
          <a href={linkTo('table', { dump: which })}>{counted(dump.records, 'record')}</a>
          {dump.has_data ? ', with tensors' : ', statistics only'}
        </Fact>
        <Fact name="Ops">
          <a href={linkTo('graph', { dump: which })}>{counted(dump.ops, 'op')}</a>
        </Fact>
        {dump.steps.length > 0 && <Fact name="Steps">{formatSteps(dump.steps)}</Fact>}
        {dump.ranks.length > 1 && <Fact name="Ranks">{formatSteps(dump.ranks)}</Fact>}
        {dump.phases.length > 1 && <Fact name="Phases">{dump.phases.join(', ')}</Fact>}
        <Fact name="Layout">{dump.layout}</Fact>
        {dump.has_data && <Fact name="Tensors">{formatBytes(dump.bytes)}</Fact>}
        {overhead && <Fact name="Overhead">{overhead}</Fact>}
        <Fact name="Lost">
          {lost === 0 ? 'nothing' : dump.losses.map((loss) => `${counted(loss.count, 'record')}: ${loss.reason}`).join('; ')}
        </Fact>
      </dl>
      {dump.problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
    </section>
  );
}

function Comparison({ state }: { state: CompareState }) {
  const made = formatVerdicts(state.summary?.verdicts ?? {});
  const given = formatVerdicts(state.summary?.given ?? {});
  return (
    <section class="card" aria-label="Comparison">
      <h2>A against B</h2>
      {state.state === 'running' && (
        <p role="status">
          Comparing: {state.stage} <progress value={state.done} max={Math.max(state.all, 1)} />
        </p>
      )}
      {state.summary && (
        <dl class="facts">
          <Fact name="Pairs">
            <a href={linkTo('pairs')}>{counted(state.summary.records, 'pair')}</a>
          </Fact>
          {made && <Fact name="Values of ops">{made}</Fact>}
          {given && <Fact name="Weights, inputs">{given}</Fact>}
        </dl>
      )}
    </section>
  );
}

export function StartView({ answer }: { answer: DumpAnswer }) {
  const isPair = answer.dumps.length > 1;
  const records = answer.dumps.reduce((sum, dump) => sum + dump.records, 0);
  return (
    <div class="start-view">
      <main>
        <h1>{isPair ? 'What differs' : 'What this dump says'}</h1>
        {answer.report && (
          <p class="report-note">
            {answer.report.made} {answer.report.cut}
            {answer.report.sources?.length ? ` Lines of source were read from ${answer.report.sources.join(', ')}.` : ''}
          </p>
        )}
        {!answer.complete && (
          <p class="looking loading" role="status">
            Looking through {counted(records, 'record')} …
          </p>
        )}
        {answer.complete && answer.sentences.length === 0 && <p>Nothing to report: no NaN, no Inf, nothing lost.</p>}
        <ol class="findings">
          {answer.sentences.map((sentence, i) => (
            <Finding key={i} sentence={sentence} first={i === 0 && answer.complete} />
          ))}
        </ol>
        {answer.complete && !isPair && !answer.dumps[0].live && <Overview dump={answer.dumps[0]} />}
        <nav class="ways" aria-label="Where to go on">
          <a href={linkTo('graph')}>
            <b>Graph</b>
            <span>every op, coloured by its values</span>
          </a>
          <a href={linkTo('table')}>
            <b>Table</b>
            <span>every record, filtered and sorted</span>
          </a>
          {answer.dumps[0].steps.length > 1 && (
            <a href={linkTo('steps')}>
              <b>Steps</b>
              <span>how values change over the steps</span>
            </a>
          )}
          {isPair && (
            <a href={linkTo('pairs')}>
              <b>Pairs</b>
              <span>the two dumps, tensor by tensor</span>
            </a>
          )}
        </nav>
      </main>
      <div class="start-side">
        {/* Why a comparison failed is among the sentences. */}
        {answer.compare && answer.compare.state !== 'failed' && <Comparison state={answer.compare} />}
        {answer.dumps.map((dump, i) => (
          <DumpFacts
            key={i}
            dump={dump}
            title={isPair ? (i === 0 ? 'A, judged' : 'B, the reference') : 'The dump'}
            which={i === 0 ? 'a' : 'b'}
          />
        ))}
      </div>
    </div>
  );
}
