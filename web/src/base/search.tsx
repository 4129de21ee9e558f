// The search box: ops, modules, types, lines of source.

import { useEffect, useState } from 'preact/hooks';
import { pathOf } from './api';
import { Dialog } from './dialog';
import { change, go, readPlace } from './place';
import type { SearchHit, Which } from './types';
import { useAnswer } from './use_answer';

function pathFor(which: Which, text: string): string {
  return pathOf('/api/search', { dump: which, q: text });
}

export function Search({ which, onClose }: { which: Which; onClose(): void }) {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [chosen, setChosen] = useState(0);
  // Enter was pressed before the answer to the typed text arrived.
  const [isWanted, setWanted] = useState(false);
  const text = typed.trim();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), 60);
    return () => clearTimeout(timer);
  }, [text]);
  const answer = useAnswer<{ items: SearchHit[]; total: number }>(asked ? pathFor(which, asked) : null);
  const hits = answer.value?.items ?? [];
  const isOfTyped = answer.path === pathFor(which, text);
  const open = (hit: SearchHit) => {
    onClose();
    const found = readPlace(hit.fragment);
    const isHere = found.view === 'graph' && readPlace(location.hash).view === 'graph';
    // Within the graph, colours and open groups stay.
    if (isHere) change({ op: found.parameters.get('op'), group: found.parameters.get('group'), flow: null, way: null });
    else go('#' + hit.fragment.replace(/^#/, ''));
  };
  useEffect(() => {
    setChosen(0);
    if (isWanted && isOfTyped && hits[0]) open(hits[0]);
  }, [answer.value, isOfTyped]);
  const type = (value: string) => {
    setTyped(value);
    setWanted(false);
  };
  const enter = () => {
    if (!isOfTyped) setWanted(true);
    else if (hits[chosen]) open(hits[chosen]);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter') enter();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog kind="search" label="Search" onClose={onClose}>
      <input
        type="text"
        name="search"
        aria-label="Search for"
        placeholder="Op, module, type, or file:line"
        spellcheck={false}
        autocomplete="off"
        autofocus
        role="combobox"
        list={undefined}
        aria-expanded={hits.length > 0}
        aria-controls="search-hits"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        value={typed}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={press}
      />
      <ul id="search-hits" role="listbox" aria-label="Found">
        {hits.map((hit, i) => (
          <li
            key={i}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === chosen}
            class={i === chosen ? 'hit chosen' : 'hit'}
            onClick={() => open(hit)}
            onPointerMove={() => setChosen(i)}
          >
            <span class="hit-kind">{hit.kind}</span>
            <span class="hit-name">{hit.name}</span>
          </li>
        ))}
      </ul>
      {answer.error && <p class="problem">{answer.error}</p>}
      {asked && !answer.loading && answer.value?.total === 0 && <p class="empty">Nothing is called “{asked}”.</p>}
      {answer.value && answer.value.total > hits.length && <p class="empty">{answer.value.total} found; type more letters.</p>}
    </Dialog>
  );
}
