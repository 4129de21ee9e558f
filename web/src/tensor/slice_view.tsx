// The values of a tensor: two dimensions as a picture, sliders for the others, zoom down to the numbers.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, getBinary, pathOf } from '../base/api';
import { endTexts } from '../base/colours';
import { formatNumber } from '../base/format';
import { Choice, Problem } from '../base/parts';
import { change } from '../base/place';
import type { Found } from '../base/types';
import { messageOf, useLoaded } from '../base/use_answer';
import {
  around,
  formatAt,
  freeDimensions,
  indexOf,
  moved,
  sliceFrom,
  wholeWindow,
  zoomed,
  type At,
  type Slice,
  type Window,
} from './slice_model';
import { paintSlice, sliceScale, type Frame, type Marker } from './slice_paint';

export interface SliceSource {
  // Address of the values, and of the search in them; parameters of both.
  address: string;
  findAddress: string;
  parameters: Record<string, string | null>;
  jumps: Record<string, string>;
}

interface Hover {
  index: number[];
  value: number;
}

function Sliders({ shape, at, onChange }: { shape: number[]; at: At; onChange(at: At): void }) {
  if (shape.length <= 2) return null;
  const [rows, columns] = freeDimensions(at);
  const choose = (place: 'rows' | 'columns', dimension: number) => {
    const other = place === 'rows' ? columns : rows;
    const next: At = shape.map((_, i) => (at[i] === ':' ? 0 : at[i]));
    const partner = other === dimension ? (place === 'rows' ? rows : columns) : other;
    next[dimension] = ':';
    next[partner] = ':';
    onChange(next);
  };
  const names = Object.fromEntries(shape.map((size, i) => [String(i), `dim ${i} (${size})`]));
  return (
    <div class="sliders">
      <Choice label="Rows" value={String(rows)} options={names} onChange={(value) => choose('rows', Number(value))} />
      <Choice label="Columns" value={String(columns)} options={names} onChange={(value) => choose('columns', Number(value))} />
      {shape.map((size, i) => {
        const place = at[i];
        if (place === ':' || size < 2) return null;
        const set = (value: number) => onChange(at.map((part, k) => (k === i ? Math.min(Math.max(value, 0), size - 1) : part)));
        return (
          <label key={i} class="slider">
            <span>dim {i}</span>
            <input type="range" min={0} max={size - 1} value={place} onInput={(event) => set(Number(event.currentTarget.value))} />
            <input
              type="number"
              aria-label={`Index of dimension ${i}`}
              min={0}
              max={size - 1}
              value={place}
              onChange={(event) => set(Number(event.currentTarget.value))}
            />
          </label>
        );
      })}
    </div>
  );
}

interface PictureProperties {
  slice: Slice;
  window: Window;
  whole: Window;
  at: At;
  marker: Marker | null;
  onWindow(window: Window): void;
  onHover(hover: Hover | null): void;
}

function Picture(properties: PictureProperties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(properties);
  latest.current = properties;
  const frame = useRef<Frame>({ left: 0, top: 0, width: 1, height: 1 });
  const { slice } = properties;
  const scale = useMemo(() => sliceScale(slice), [slice]);
  const paint = useRef(() => undefined as void);
  paint.current = () => {
    const element = canvas.current;
    if (!element) return; // the observer of its size may come after it went
    const box = element.getBoundingClientRect();
    if (box.width === 0) return;
    element.width = Math.round(box.width * devicePixelRatio);
    element.height = Math.round(box.height * devicePixelRatio);
    const now = latest.current;
    const shown = marked(now);
    frame.current = paintSlice(element.getContext('2d')!, slice, scale, box, now.window, shown);
  };
  useEffect(() => paint.current(), [slice, properties.marker]);
  useEffect(() => {
    const element = canvas.current!;
    const repaint = () => paint.current();
    const observer = new ResizeObserver(repaint);
    observer.observe(element);
    addEventListener('themechange', repaint);
    const stop = followPicture(element, latest, frame);
    return () => {
      observer.disconnect();
      removeEventListener('themechange', repaint);
      stop();
    };
  }, []);
  return (
    <div class="picture-area">
      <canvas ref={canvas} class="picture" tabIndex={0} role="img" aria-label="Values as colours; + and - zoom, arrows move" />
      <div class="picture-scale" aria-label="Scale">
        <span>{endTexts(scale, 4)[1]}</span>
        <i class="ramp-down" />
        <span>{endTexts(scale, 4)[0]}</span>
      </div>
    </div>
  );
}

function marked({ marker, window }: PictureProperties): Marker | null {
  if (!marker) return null;
  const inside =
    marker.row >= window.row &&
    marker.row < window.row + window.rows &&
    marker.column >= window.column &&
    marker.column < window.column + window.columns;
  return inside ? marker : null;
}

function followPicture(element: HTMLCanvasElement, latest: { current: PictureProperties }, frame: { current: Frame }): () => void {
  const cellAt = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    const { slice } = latest.current;
    const across = (event.clientX - box.left - frame.current.left) / frame.current.width;
    const down = (event.clientY - box.top - frame.current.top) / frame.current.height;
    if (across < 0 || down < 0 || across >= 1 || down >= 1) return null;
    return { column: Math.floor(across * slice.columns), row: Math.floor(down * slice.rows), across, down };
  };
  let dragged: { x: number; y: number; window: Window } | null = null;
  const move = (event: PointerEvent) => {
    const now = latest.current;
    if (dragged) {
      const columns = Math.round(((dragged.x - event.clientX) / frame.current.width) * now.window.columns);
      const rows = Math.round(((dragged.y - event.clientY) / frame.current.height) * now.window.rows);
      now.onWindow(moved(dragged.window, now.whole, rows, columns));
      return;
    }
    const cell = cellAt(event);
    if (!cell) return now.onHover(null);
    const { slice, window, at } = now;
    const index = indexOf(at, window.row + cell.row * slice.rowsPerCell, window.column + cell.column * slice.columnsPerCell);
    now.onHover({ index, value: slice.values[cell.row * slice.columns + cell.column] });
  };
  const press = (event: PointerEvent) => {
    dragged = { x: event.clientX, y: event.clientY, window: latest.current.window };
    element.setPointerCapture(event.pointerId);
  };
  const release = () => (dragged = null);
  const leave = () => latest.current.onHover(null);
  const zoom = (factor: number, across = 0.5, down = 0.5) => {
    const { window, whole, onWindow } = latest.current;
    onWindow(zoomed(window, whole, window.row + down * window.rows, window.column + across * window.columns, factor));
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const cell = cellAt(event);
    zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, cell?.across, cell?.down);
  };
  const key = (event: KeyboardEvent) => {
    const { window, whole, onWindow } = latest.current;
    const by = (size: number) => Math.max(1, Math.round(size / 8));
    const moves: Record<string, [number, number]> = {
      ArrowUp: [-by(window.rows), 0],
      ArrowDown: [by(window.rows), 0],
      ArrowLeft: [0, -by(window.columns)],
      ArrowRight: [0, by(window.columns)],
    };
    if (event.key === '+' || event.key === '=') zoom(1 / 1.5);
    else if (event.key === '-') zoom(1.5);
    else if (event.key === 'f') onWindow(whole);
    else if (moves[event.key]) onWindow(moved(window, whole, ...moves[event.key]));
    else return;
    event.preventDefault();
  };
  const events: [string, EventListener][] = [
    ['pointermove', move as EventListener],
    ['pointerdown', press as EventListener],
    ['pointerup', release],
    ['pointercancel', release],
    ['pointerleave', leave],
    ['wheel', wheel as EventListener],
    ['keydown', key as EventListener],
  ];
  for (const [name, listener] of events) element.addEventListener(name, listener, { passive: false });
  return () => events.forEach(([name, listener]) => element.removeEventListener(name, listener));
}

const REDUCTIONS = { absmax: 'largest absolute', max: 'largest', min: 'smallest', value: 'first' };

export function SliceView({ shape, at, source }: { shape: number[]; at: At; source: SliceSource }) {
  const whole = useMemo(() => wholeWindow(shape, at), [shape.join(), formatAt(at)]);
  const free = freeDimensions(at).join();
  const [window, setWindow] = useState<Window>(whole);
  const [marker, setMarker] = useState<{ index: number[]; flat: number; what: string } | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [reduce, setReduce] = useState('absmax');
  const [note, setNote] = useState<string | null>(null);
  useEffect(() => setWindow(marker ? around(whole, ...cellOf(marker.index, at)) : whole), [free, source.address]);
  const path = pathOf(source.address, {
    ...source.parameters,
    at: formatAt(at),
    rows: `${window.row}:${window.row + window.rows}`,
    cols: `${window.column}:${window.column + window.columns}`,
    reduce,
  });
  const answer = useLoaded(path, async (asked, signal) => ({ slice: sliceFrom(await getBinary(asked, signal)), window, at }));
  const setAt = (next: At) => change({ at: formatAt(next) }, true);
  const jump = async (what: string) => {
    const after = marker?.what === what && what === 'nonfinite' ? marker.flat : null;
    try {
      const found = await get<Found>(pathOf(source.findAddress, { ...source.parameters, what, after }));
      const next: At = at.map((part, i) => (part === ':' ? ':' : found.index[i]));
      setMarker({ index: found.index, flat: found.flat, what });
      setWindow(around(whole, ...cellOf(found.index, next)));
      setNote(`[${found.index.join(', ')}] = ${typeof found.value === 'number' ? formatNumber(found.value, 7) : found.value}`);
      setAt(next);
    } catch (problem) {
      setNote(messageOf(problem));
    }
  };
  const shown = answer.value;
  const isReduced = shown !== null && (shown.slice.rowsPerCell > 1 || shown.slice.columnsPerCell > 1);
  const isMarked = marker !== null && at.every((part, i) => part === ':' || part === marker.index[i]);
  const [markedRow, markedColumn] = isMarked ? cellOf(marker.index, at) : [0, 0];
  return (
    <div class="slice-view">
      <div class="toolbar" role="toolbar" aria-label="Values">
        {Object.entries(source.jumps).map(([what, text]) => (
          <button key={what} type="button" onClick={() => void jump(what)}>
            {text}
          </button>
        ))}
        <button
          type="button"
          class="quiet"
          title="Zoom in (+)"
          aria-label="Zoom in"
          onClick={() => setWindow(zoomed(window, whole, window.row + window.rows / 2, window.column + window.columns / 2, 0.5))}
        >
          +
        </button>
        <button type="button" class="quiet" onClick={() => setWindow(whole)}>
          Whole
        </button>
        {isReduced && <Choice label="Of each cell" value={reduce} options={REDUCTIONS} onChange={setReduce} />}
        <span class="spring" />
        <output class="hover">
          {hover ? `[${hover.index.join(', ')}]${isReduced ? ' and more' : ''} = ${formatNumber(hover.value, 7)}` : (note ?? '')}
        </output>
      </div>
      <Sliders shape={shape} at={at} onChange={setAt} />
      <Problem text={answer.error} />
      {shown && (
        <Picture
          slice={shown.slice}
          window={shown.window}
          whole={whole}
          at={shown.at}
          marker={isMarked ? { row: markedRow, column: markedColumn } : null}
          onWindow={setWindow}
          onHover={setHover}
        />
      )}
    </div>
  );
}

function cellOf(index: number[], at: At): [number, number] {
  const [rows, columns] = freeDimensions(at);
  return [rows < 0 ? 0 : index[rows], columns < 0 ? 0 : index[columns]];
}
