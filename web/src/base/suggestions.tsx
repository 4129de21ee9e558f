// A field that suggests names of the dump while it is typed in. Its text counts when Enter is pressed or the field is left.

import { useEffect, useState } from 'preact/hooks';
import { pathOf } from './api';
import type { SearchHit, Which } from './types';
import { useAnswer } from './use_answer';

const SOON = 80;

// Names of one kind that contain the text. Of types all are suggested at first, since there are few.
export function useNames(which: Which, kind: 'op' | 'type', text: string): SearchHit[] {
  const [asked, setAsked] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), SOON);
    return () => clearTimeout(timer);
  }, [text]);
  return useAnswer<{ items: SearchHit[] }>(pathOf('/api/search', { dump: which, q: asked, kind })).value?.items ?? [];
}

interface Properties {
  name: string;
  label: string;
  hint: string;
  value: string;
  wide?: boolean;
  suggested?: string[];
  onType?(text: string): void;
  onTake(text: string): void;
}

export function Field({ name, label, hint, value, wide, suggested, onType, onTake }: Properties) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const apply = () => typed !== value && onTake(typed);
  return (
    <label class={wide ? 'field wide' : 'field'}>
      <span>{label}</span>
      <input
        name={name}
        value={typed}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        list={suggested ? `names-of-${name}` : undefined}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          onType?.(event.currentTarget.value);
        }}
        onChange={apply}
        onKeyDown={(event) => event.key === 'Enter' && apply()}
      />
      {suggested && (
        <datalist id={`names-of-${name}`}>
          {suggested.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </label>
  );
}

// Of "Conv,Ge" only the last word is completed.
export function TypeField({ which, value, onTake }: { which: Which; value: string; onTake(text: string): void }) {
  const [typed, setTyped] = useState(value);
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const names = useNames(which, 'type', typed.slice(before.length).trim()).map((hit) => before + hit.name);
  return <Field name="type" label="Type" hint="Conv" value={value} suggested={names} onType={setTyped} onTake={onTake} />;
}

export function OpField({ which, value, label, onTake }: { which: Which; value: string; label: string; onTake(text: string): void }) {
  const [typed, setTyped] = useState(value);
  const names = useNames(which, 'op', typed.trim());
  const suggested = [...new Set(names.map((hit) => hit.name))];
  return <Field name="op" label={label} hint="name" value={value} suggested={suggested} onType={setTyped} onTake={onTake} />;
}
