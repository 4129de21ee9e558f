// A list of millions of rows of which only those in the window exist. Rows are fetched in pages when they come near.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { get, pathOf, type Parameters } from '../base/api';
import { interfaceScale } from '../base/theme';
import type { List } from '../base/types';
import { messageOf } from '../base/use_answer';

const PAGE = 200;
const MOST_PAGES = 60;
const ROW_HEIGHT = 24;
// Browsers cut off elements that are much higher than this; longer lists scroll in proportion.
const TALLEST = 8_000_000;

export interface Rows<Item> {
  total: number | null;
  error: string | null;
  loading: boolean;
  at(index: number): Item | undefined;
  want(from: number, to: number): void;
}

class Pages<Item> {
  total: number | null = null;
  error: string | null = null;
  private readonly pages = new Map<number, Item[]>();
  private readonly asked = new Set<number>();
  private readonly controller = new AbortController();

  constructor(
    private readonly address: string | null,
    private readonly parameters: Parameters,
    private readonly changed: () => void,
  ) {}

  get loading(): boolean {
    return this.asked.size > 0;
  }

  at(index: number): Item | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  want(from: number, to: number): void {
    if (this.address === null) return;
    for (let page = Math.floor(Math.max(from, 0) / PAGE); page <= Math.floor(Math.max(to, 0) / PAGE); page++) {
      if (this.total !== null && page > 0 && page * PAGE >= this.total) return;
      if (!this.pages.has(page) && !this.asked.has(page) && this.error === null) void this.fetch(this.address, page);
    }
  }

  private async fetch(address: string, page: number): Promise<void> {
    this.asked.add(page);
    try {
      const path = pathOf(address, { ...this.parameters, from: page * PAGE, limit: PAGE });
      const list = await get<List<Item>>(path, this.controller.signal);
      this.total = list.total;
      this.pages.set(page, list.items);
      // The oldest page goes; the first is kept, since every list starts with it.
      if (this.pages.size > MOST_PAGES) this.pages.delete([...this.pages.keys()].find((old) => old !== 0)!);
    } catch (problem) {
      if (this.controller.signal.aborted) return;
      this.error = messageOf(problem);
    }
    this.asked.delete(page);
    this.changed();
  }

  close(): void {
    this.controller.abort();
  }
}

// An address of null asks for nothing yet.
export function useRows<Item>(address: string | null, parameters: Parameters): Rows<Item> {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const key = pathOf(address ?? '', parameters);
  const pages = useRef<{ key: string; pages: Pages<Item> } | null>(null);
  if (pages.current?.key !== key) {
    pages.current?.pages.close();
    pages.current = { key, pages: new Pages<Item>(address, parameters, () => redraw(0)) };
  }
  useEffect(() => () => pages.current?.pages.close(), []);
  const now = pages.current.pages;
  useEffect(() => now.want(0, PAGE - 1), [key]);
  return {
    total: now.total,
    error: now.error,
    loading: now.loading,
    at: (index) => now.at(index),
    want: (from, to) => now.want(from, to),
  };
}

interface Properties<Item> {
  rows: Rows<Item>;
  header: ComponentChildren;
  label: string;
  columns: string;
  // The width of all columns together; narrower windows scroll.
  leastWidth?: string;
  focused: number;
  // `target`: what was clicked in the row; nothing for a key.
  onFocus(index: number, target?: EventTarget | null): void;
  // The rows that are drawn changed.
  onSeen?(from: number, to: number): void;
  onOpen(index: number): void;
  cells(item: Item, index: number): ComponentChildren;
}

interface Place {
  first: number;
  visible: number;
  offset: number;
}

function useScrolling(total: number, rowHeight: number) {
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place>({ first: 0, visible: 40, offset: 0 });
  const whole = total * rowHeight;
  const height = Math.min(whole, TALLEST);
  // Below the head, which stays.
  const inside = () => box.current!.clientHeight - (box.current!.firstElementChild as HTMLElement).offsetHeight;
  // Scrolled pixels times this are pixels of the whole list.
  const stretch = () => (whole <= TALLEST ? 1 : (whole - inside()) / (height - inside()));
  const measure = () => {
    const element = box.current!;
    const visible = Math.ceil(element.clientHeight / rowHeight) + 1;
    const top = element.scrollTop * stretch();
    const first = Math.floor(top / rowHeight);
    // Where the first row is drawn, in scrolled pixels.
    const offset = element.scrollTop - (top - first * rowHeight);
    setPlace((old) => (old.first === first && old.visible === visible && old.offset === offset ? old : { first, visible, offset }));
  };
  useLayoutEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    measure();
    return () => observer.disconnect();
  }, [total, rowHeight]);
  const show = (index: number) => {
    const element = box.current!;
    const factor = stretch();
    const top = element.scrollTop * factor;
    const y = index * rowHeight;
    if (y < top) element.scrollTop = y / factor;
    else if (y + rowHeight > top + inside()) element.scrollTop = Math.ceil((y + rowHeight - inside()) / factor);
  };
  return { box, place, height, measure, show };
}

export function VirtualList<Item>(properties: Properties<Item>) {
  const { rows, focused, columns } = properties;
  const total = rows.total ?? 0;
  const rowHeight = Math.round(ROW_HEIGHT * interfaceScale());
  const { box, place, height, measure, show } = useScrolling(total, rowHeight);
  const from = Math.max(0, Math.min(place.first, total - 1));
  const to = Math.min(total, place.first + place.visible);
  useEffect(() => {
    if (total > 0) rows.want(from - 20, to + 20);
    properties.onSeen?.(from, to);
  });
  const step = (event: KeyboardEvent) => {
    const page = Math.max(1, place.visible - 3);
    const moves: Record<string, number> = {
      ArrowDown: focused + 1,
      ArrowUp: focused - 1,
      PageDown: focused + page,
      PageUp: focused - page,
      Home: 0,
      End: total - 1,
    };
    if (event.key === 'Enter' && focused >= 0) properties.onOpen(focused);
    const next = moves[event.key];
    if (next === undefined || total === 0) return;
    event.preventDefault();
    const index = Math.min(Math.max(next, 0), total - 1);
    properties.onFocus(index);
    show(index);
  };
  const drawn = [];
  for (let index = from; index < to; index++) {
    const item = rows.at(index);
    drawn.push(
      <div
        key={index}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={index === focused}
        class={(index === focused ? 'row focused' : 'row') + (index % 2 ? ' odd' : '')}
        style={{
          gridTemplateColumns: columns,
          minWidth: properties.leastWidth,
          height: `${rowHeight}px`,
          top: `${place.offset + (index - place.first) * rowHeight}px`,
        }}
        onClick={(event) => properties.onFocus(index, event.target)}
        onDblClick={() => properties.onOpen(index)}
      >
        {item === undefined ? <span class="cell waiting">…</span> : properties.cells(item, index)}
      </div>,
    );
  }
  return (
    <div
      class="list"
      role="grid"
      aria-label={properties.label}
      aria-rowcount={total + 1}
      tabIndex={0}
      ref={box}
      onScroll={measure}
      onKeyDown={step}
    >
      <div class="list-head" role="row" style={{ gridTemplateColumns: columns, minWidth: properties.leastWidth }}>
        {properties.header}
      </div>
      <div class="list-body" role="rowgroup" style={{ height: `${height}px`, minWidth: properties.leastWidth }}>
        {drawn}
      </div>
    </div>
  );
}
