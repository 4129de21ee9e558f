// The frame of the page: the bar with the views, and the view that the fragment names.

import { useEffect, useState } from 'preact/hooks';
import { DUMP_PAGE, isReport } from './base/api';
import { Help } from './base/help';
import { Loading } from './base/parts';
import { change, go, linkTo, usePlace, type Place } from './base/place';
import { Search } from './base/search';
import { switchTheme } from './base/theme';
import type { DumpAnswer, Which } from './base/types';
import { useDump } from './base/use_dump';
import { PairView } from './compare/pair_view';
import { PairsView } from './compare/pairs_view';
import { GraphView } from './graph/graph_view';
import { isTyping } from './graph/graph_keys';
import { LiveView } from './live/live_view';
import { RanksView } from './ranks/ranks_view';
import { StartView } from './start/start_view';
import { StepsView } from './steps/steps_view';
import { TableView } from './table/table_view';
import { TensorView } from './tensor/tensor_view';

interface Tab {
  view: string;
  name: string;
  isThere(answer: DumpAnswer): boolean;
}

const TABS: Tab[] = [
  { view: 'ranks', name: 'Ranks', isThere: (answer) => answer.job !== undefined },
  { view: 'start', name: 'Start', isThere: (answer) => answer.dumps.length > 0 },
  { view: 'graph', name: 'Graph', isThere: (answer) => answer.dumps.length > 0 },
  { view: 'table', name: 'Table', isThere: (answer) => answer.dumps.length > 0 },
  { view: 'steps', name: 'Steps', isThere: (answer) => answer.dumps.some((dump) => dump.steps.length > 1) },
  { view: 'pairs', name: 'Pairs', isThere: (answer) => answer.dumps.length > 1 },
  { view: 'live', name: 'Live', isThere: (answer) => answer.dumps[0]?.live === true && !isReport() },
];
// Views of one record or pair belong to the tab of their list.
const HOME: Record<string, string> = { tensor: 'table', pair: 'pairs' };

// Views that contain a main element.
const HAS_MAIN = /^(start|steps|tensor|pair|ranks)$/;

const ALL_RANKS = '/#ranks';

function View({ place, answer }: { place: Place; answer: DumpAnswer }) {
  if (answer.job && /^(start|ranks)$/.test(place.view)) return <RanksView place={place} job={answer.job.name} />;
  switch (answer.job ? '' : place.view) {
    case 'start':
      return <StartView answer={answer} />;
    case 'graph':
      return <GraphView key={place.parameters.get('dump') ?? 'a'} place={place} answer={answer} />;
    case 'table':
      return <TableView place={place} answer={answer} />;
    case 'tensor':
      return <TensorView place={place} answer={answer} />;
    case 'steps':
      return <StepsView place={place} answer={answer} />;
    case 'pairs':
      return <PairsView place={place} answer={answer} />;
    case 'pair':
      return <PairView place={place} />;
    case 'live':
      return <LiveView answer={answer} />;
  }
  return (
    <div class="empty">
      There is no view “{place.view}”{answer.job ? ' of a job; open one of its ranks' : ''}. <a href="#start">Go to the start.</a>
    </div>
  );
}

function useKeys(tabs: Tab[], show: { search(): void; help(): void }) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event) || document.querySelector('dialog[open]')) return;
      const tab = tabs[Number(event.key) - 1];
      if (event.key === '/') show.search();
      else if (event.key === '?') show.help();
      else if (event.key === 't') switchTheme();
      else if (event.key === 'r' && DUMP_PAGE) location.href = ALL_RANKS;
      else if (tab) go(linkTo(tab.view));
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [tabs.length, tabs[0]?.view]);
}

// The same view of the other dump. Numbers of ops and records mean something else there.
function WhichDump({ which }: { which: Which }) {
  const choose = (next: Which) => change({ dump: next === 'a' ? null : next, op: null, group: null, record: null, row: null, flow: null });
  return (
    <span class="which" role="group" aria-label="Dump">
      {(['a', 'b'] as const).map((name) => (
        <button key={name} type="button" aria-pressed={which === name} onClick={() => choose(name)}>
          {name.toUpperCase()}
        </button>
      ))}
    </span>
  );
}

export function App() {
  const place = usePlace();
  const { answer, error, reload } = useDump();
  const [searching, setSearching] = useState(false);
  const [helping, setHelping] = useState(false);
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const tabs = answer ? TABS.filter((tab) => tab.isThere(answer)) : [];
  useKeys(tabs, { search: () => setSearching(!answer?.job), help: () => setHelping(true) });
  const home = answer?.job ? 'ranks' : (HOME[place.view] ?? place.view);
  useEffect(() => {
    const name = TABS.find((tab) => tab.view === home)?.name ?? '';
    const names = answer?.job ? [answer.job.name] : answer?.dumps.map((dump) => dump.name);
    document.title = names ? `${name} · ${names.join(' | ')}` : 'tensortap';
  }, [answer, home]);
  const Frame = answer && HAS_MAIN.test(answer.job ? 'ranks' : place.view) ? 'div' : 'main';
  const changed = answer?.dumps.find((dump) => dump.changed && !dump.live);
  return (
    <>
      <header class="bar">
        <a class="brand" href="#start">
          tensortap
        </a>
        <nav aria-label="Views">
          {DUMP_PAGE && (
            <a class="tab" href={ALL_RANKS} title="All ranks of the job (r)">
              ‹ Ranks
            </a>
          )}
          {tabs.map((tab) => (
            <a key={tab.view} class="tab" href={linkTo(tab.view, { dump: which })} aria-current={home === tab.view ? 'page' : undefined}>
              {tab.name}
            </a>
          ))}
        </nav>
        {/^(graph|table|steps|pairs|live)$/.test(home) && place.view !== 'tensor' && <h1 class="unseen">{home}</h1>}
        {answer && answer.dumps.length > 1 && /^(graph|table|steps)$/.test(home) && <WhichDump which={which} />}
        <span class="spring" />
        {answer && !answer.job && (
          <button type="button" class="search-button" onClick={() => setSearching(true)}>
            Search <kbd>/</kbd>
          </button>
        )}
        <button type="button" class="quiet" title="Dark or light (t)" aria-label="Dark or light" onClick={switchTheme}>
          ◐
        </button>
        <button type="button" class="quiet" title="Help (?)" aria-label="Help" onClick={() => setHelping(true)}>
          ?
        </button>
      </header>
      {changed && (
        <div class="problem banner" role="alert">
          The files of {changed.name} changed or went away after it was opened. Start <code>tensortap serve</code> again to see what is
          there now.
        </div>
      )}
      {error && (
        <div class="problem banner" role="alert">
          {error}{' '}
          <button type="button" onClick={reload}>
            Try again
          </button>
        </div>
      )}
      <Frame class="view">{answer ? <View place={place} answer={answer} /> : !error && <Loading text="Opening the dump …" />}</Frame>
      {searching && <Search which={which} onClose={() => setSearching(false)} />}
      {helping && <Help onClose={() => setHelping(false)} />}
    </>
  );
}
