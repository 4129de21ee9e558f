// The search box: ops, modules, types, lines of source.

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { pathOf } from './api';
import { change, go, readPlace } from './place';
import type { SearchHit, Which } from './types';
import { useAnswer } from './use_answer';

export function Search({ which, onClose }: { which: Which; onClose(): void }) {
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next key is pressed, which belongs into the field.
  useLayoutEffect(() => dialog.current!.showModal(), []);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed.trim()), 60);
    return () => clearTimeout(timer);
  }, [typed]);
  const answer = useAnswer<{ items: SearchHit[]; total: number }>(asked ? pathOf('/api/search', { dump: which, q: asked }) : null);
  const hits = answer.value?.items ?? [];
  useEffect(() => setChosen(0), [answer.value]);
  const open = (hit: SearchHit) => {
    onClose();
    const found = readPlace(hit.fragment);
    const isHere = found.view === 'graph' && readPlace(location.hash).view === 'graph';
    // Within the graph, colours and open groups stay.
    if (isHere) change({ op: found.parameters.get('op'), group: found.parameters.get('group'), flow: null, way: null });
    else go('#' + hit.fragment.replace(/^#/, ''));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter' && hits[chosen]) open(hits[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="search"
      aria-label="Search"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
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
        onInput={(event) => setTyped(event.currentTarget.value)}
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
    </dialog>
  );
}
