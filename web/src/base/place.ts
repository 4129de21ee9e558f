// The state of the page is its fragment, so that any view can be sent as a link: `#view?name=value`.

import { useEffect, useState } from 'preact/hooks';
import { pathOf, type Parameters } from './api';

export interface Place {
  view: string;
  parameters: URLSearchParams;
}

export function readPlace(fragment: string): Place {
  const [view, query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s);
  return { view: view || 'start', parameters: new URLSearchParams(query) };
}

export function linkTo(view: string, parameters: Parameters = {}): string {
  return '#' + pathOf(view, parameters);
}

type Listener = () => void;
const listeners = new Set<Listener>();
const tell = () => listeners.forEach((listener) => listener());
addEventListener('hashchange', tell);

export function go(fragment: string): void {
  if (location.hash === fragment) return;
  location.hash = fragment;
}

// Changes parameters of the place. `replace` leaves no entry in the history: for what moves all the time.
export function change(parameters: Parameters, replace = false): void {
  const place = readPlace(location.hash);
  for (const [name, value] of Object.entries(parameters)) {
    place.parameters.delete(name);
    if (value === null || value === undefined || value === '') continue;
    if (typeof value === 'object') value.forEach((part) => place.parameters.append(name, part));
    else place.parameters.set(name, String(value));
  }
  const query = place.parameters.toString();
  const fragment = '#' + place.view + (query ? '?' + query : '');
  if (location.hash === fragment) return;
  if (replace) history.replaceState(null, '', fragment);
  else history.pushState(null, '', fragment);
  tell();
}

export function usePlace(): Place {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const listener = () => setFragment(location.hash);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return readPlace(fragment);
}

export function numberOf(place: Place, name: string): number | null {
  const text = place.parameters.get(name);
  if (text === null || text === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
