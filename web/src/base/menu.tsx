// A button that opens a small panel below it; Escape and a click elsewhere close it.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export function Menu({ name, children }: { name: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const element = box.current;
      if (!element?.open || element.contains(event.target as Node)) return;
      element.open = false;
    };
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, []);
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !box.current?.open) return;
    box.current.open = false;
    box.current.querySelector('summary')!.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <details class="menu" ref={box} onKeyDown={press}>
      <summary class="button">{name}</summary>
      <div class="menu-panel">{children}</div>
    </details>
  );
}
