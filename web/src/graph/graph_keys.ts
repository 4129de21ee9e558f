// The keyboard of the graph view.

import { useEffect, useRef } from 'preact/hooks';
import { change } from '../base/place';
import type { Heat } from './heat';
import { neighbour, nextOp, type Direction } from './neighbours';
import type { Scene } from './scene';
import type { Viewport } from './viewport';

interface GraphKeys {
  scene: Scene | null;
  viewport: Viewport;
  selected: number;
  op: number | null;
  bad: Heat | null;
  errors: Heat | null;
  select(node: number): void;
  toggle(node: number): void;
  fit(): void;
}

export function isTyping(event: KeyboardEvent): boolean {
  const element = event.target as HTMLElement;
  return event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName ?? '');
}

function follow(keys: GraphKeys, key: Direction): void {
  const { scene } = keys;
  if (!scene) return;
  const next = keys.selected < 0 ? scene.graph.shown(0) : neighbour(scene, keys.selected, key);
  if (next >= 0) keys.select(next);
}

function jump(heat: Heat | null, op: number | null, wanted: (value: number) => boolean): void {
  const next = heat ? nextOp(heat.values, op ?? -1, wanted) : -1;
  if (next >= 0) change({ op: next, group: null });
}

// True when the key means something here.
function handle(keys: GraphKeys, key: string): boolean {
  switch (key) {
    case 'ArrowUp':
    case 'ArrowDown':
    case 'ArrowLeft':
    case 'ArrowRight':
      follow(keys, key);
      return true;
    case 'n':
      jump(keys.bad, keys.op, (value) => value > 0);
      return true;
    case 'd':
      jump(keys.errors, keys.op, (value) => value > 0);
      return true;
    case 'f':
      keys.fit();
      return true;
    case '+':
    case '=':
      keys.viewport.zoom(1.4);
      return true;
    case '-':
      keys.viewport.zoom(1 / 1.4);
      return true;
    case 'Enter':
      if (keys.selected >= 0) keys.toggle(keys.selected);
      return keys.selected >= 0;
    case 'Escape':
      change({ op: null, group: null });
      return true;
  }
  return false;
}

export function useGraphKeys(keys: GraphKeys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event) || document.querySelector('dialog[open]')) return;
      const isControl = /^(BUTTON|A)$/.test((event.target as HTMLElement).tagName ?? '');
      if (isControl && event.key === 'Enter') return;
      if (handle(latest.current, event.key)) event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
