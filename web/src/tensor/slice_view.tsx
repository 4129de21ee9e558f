// The values of a tensor: two dimensions as a picture, sliders for the others, zoom down to the numbers.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, getBinary, isReport, pathOf } from '../base/api';
import { formatNumber, formatShape } from '../base/format';
import { Choice, Problem } from '../base/parts';
import { change } from '../base/place';
import { TakeSlice } from '../base/take_slice';
import type { Found } from '../base/types';
import { messageOf, useAnswer, useLoaded } from '../base/use_answer';
import { around, formatAt, formatZoom, freeDimensions, sliceFrom, wholeWindow, zoomed, type At, type Window } from './slice_model';
import { hasBothSigns } from './slice_paint';
import { Picture, type Hover } from './slice_picture';
import { useWindow } from './use_window';

export interface SliceSource {
  // Address of the values, and of the search in them; parameters of both.
  address: string;
  findAddress: string;
  parameters: Record<string, string | null>;
  // The type of the values; null for computed ones.
  dtype: string | null;
  jumps: Record<string, string>;
}

// Where along a slider a NaN or Inf lies.
function Marks({ places, size }: { places: number[]; size: number }) {
  if (places.length === 0) return null;
  const first = places.slice(0, MOST_NAMED).join(', ');
  return (
    <span class="marks" title={`NaN or Inf at ${first}${places.length > MOST_NAMED ? ' and more' : ''}`}>
      {places.slice(0, MOST_MARKS).map((place) => (
        <i key={place} style={{ left: `calc(8px + (100% - 16px) * ${place / (size - 1)})` }} />
      ))}
    </span>
  );
}

const MOST_NAMED = 20;
const MOST_MARKS = 400;

interface SliderProperties {
  shape: number[];
  at: At;
  // Of each dimension where a NaN or Inf lies.
  places: number[][];
  onChange(at: At): void;
}

function Sliders({ shape, at, places, onChange }: SliderProperties) {
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
            <span class="range">
              <input type="range" min={0} max={size - 1} value={place} onInput={(event) => set(Number(event.currentTarget.value))} />
              <Marks places={places[i] ?? []} size={size} />
            </span>
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

const REDUCTIONS = { absmax: 'largest absolute', max: 'largest', min: 'smallest', value: 'first' };

function cellOf(index: number[], at: At): [number, number] {
  const [rows, columns] = freeDimensions(at);
  return [rows < 0 ? 0 : index[rows], columns < 0 ? 0 : index[columns]];
}

interface Marked {
  index: number[];
  flat: number;
  what: string;
}

// "rows 0–15 of 512, columns 0–15 of 64" where not everything is shown.
function partText(window: Window, whole: Window): string | null {
  const axis = (name: string, from: number, count: number, all: number) =>
    count < all ? [`${name} ${from}–${from + count - 1} of ${all}`] : [];
  const parts = [...axis('rows', window.row, window.rows, whole.rows), ...axis('columns', window.column, window.columns, whole.columns)];
  return parts.length > 0 ? parts.join(', ') : null;
}

// The caller gives a `key` that names the tensor: nothing of one tensor may be left for the next.
export function SliceView(properties: SliceProperties) {
  if (properties.shape.includes(0)) {
    return <p class="empty">This tensor has no values: its shape is {formatShape(properties.shape)}.</p>;
  }
  return <Values {...properties} />;
}

interface SliceProperties {
  shape: number[];
  at: At;
  // The part that is shown, as in the address.
  zoom: string | null;
  // Whether a NaN or Inf may be in it.
  mayBeBad: boolean;
  // One of `source.jumps`, which is made when the view opens.
  find?: string | null;
  source: SliceSource;
}

const PALETTES = { zero: 'around 0', range: 'smallest to largest' };

function Values({ shape, at, zoom, mayBeBad, find, source }: SliceProperties) {
  const whole = useMemo(() => wholeWindow(shape, at), [shape.join(), formatAt(at)]);
  const [window, setWindow] = useWindow(whole, zoom, freeDimensions(at).join());
  const [marker, setMarker] = useState<Marked | null>(null);
  const [hover, setHover] = useState<Hover | null>(null);
  const [reduce, setReduce] = useState('absmax');
  const [note, setNote] = useState<string | null>(null);
  const [palette, setPalette] = useState('zero');
  const places = useAnswer<{ places: number[][] }>(
    mayBeBad && shape.length > 2 && !isReport() ? pathOf(source.address.replace(/slice$/, 'places'), source.parameters) : null,
  );
  const path = pathOf(source.address, {
    ...source.parameters,
    at: formatAt(at),
    rows: `${window.row}:${window.row + window.rows}`,
    cols: `${window.column}:${window.column + window.columns}`,
    reduce,
  });
  const answer = useLoaded(path, async (asked, signal) => ({ slice: sliceFrom(await getBinary(asked, signal)), window, whole, at }));
  // The part that is shown stays while other dimensions move.
  const setAt = (next: At) => {
    const nextWhole = wholeWindow(shape, next);
    const isSame = freeDimensions(next).join() === freeDimensions(at).join();
    const nextWindow = isSame ? window : marker ? around(nextWhole, ...cellOf(marker.index, next)) : nextWhole;
    change({ at: formatAt(next), zoom: formatZoom(nextWindow, nextWhole) }, true);
  };
  const jump = async (what: string) => {
    const after = marker?.what === what && what === 'nonfinite' ? marker.flat : null;
    try {
      const found = await get<Found>(pathOf(source.findAddress, { ...source.parameters, what, after }));
      const next: At = at.map((part, i) => (part === ':' ? ':' : found.index[i]));
      setMarker({ index: found.index, flat: found.flat, what });
      setNote(`[${found.index.join(', ')}] = ${typeof found.value === 'number' ? formatNumber(found.value, 7) : found.value}`);
      change({ at: formatAt(next), zoom: formatZoom(around(whole, ...cellOf(found.index, next)), whole), find: null }, true);
    } catch (problem) {
      setNote(messageOf(problem));
    }
  };
  useEffect(() => {
    if (find && find in source.jumps) void jump(find);
  }, []);
  const shown = answer.value;
  const hasSigns = useMemo(() => shown !== null && hasBothSigns(shown.slice), [shown]);
  const isReduced = shown !== null && (shown.slice.rowsPerCell > 1 || shown.slice.columnsPerCell > 1);
  const isMarked = marker !== null && at.every((part, i) => part === ':' || part === marker.index[i]);
  const [markedRow, markedColumn] = isMarked ? cellOf(marker.index, at) : [0, 0];
  const part = shown && partText(shown.window, shown.whole);
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
        {part && <span class="count part">{part}</span>}
        {isReduced && <Choice label="Of each cell" value={reduce} options={REDUCTIONS} onChange={setReduce} />}
        {hasSigns && <Choice label="Colours" value={palette} options={PALETTES} onChange={setPalette} />}
        <TakeSlice address={source.address} parameters={source.parameters} dtype={source.dtype} at={at} window={window} />
        <span class="spring" />
        <output class="hover">
          {hover ? `[${hover.index.join(', ')}]${isReduced ? ' and more' : ''} = ${formatNumber(hover.value, 7)}` : (note ?? '')}
        </output>
      </div>
      <Sliders shape={shape} at={at} places={places.value?.places ?? []} onChange={setAt} />
      <Problem text={answer.error} />
      {shown && (
        <Picture
          slice={shown.slice}
          window={shown.window}
          whole={shown.whole}
          at={shown.at}
          isAroundZero={hasSigns && palette === 'zero'}
          marker={isMarked ? { row: markedRow, column: markedColumn } : null}
          onWindow={setWindow}
          onHover={setHover}
        />
      )}
    </div>
  );
}
