// Two dimensions of a tensor as a picture that zooms and moves.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { endTexts } from '../base/colours';
import { formatCount } from '../base/format';
import { indexOf, moved, zoomed, type At, type Slice, type Window } from './slice_model';
import { countBad, paintSlice, sliceScale, type Frame, type Marker } from './slice_paint';

export interface Hover {
  index: number[];
  value: number;
}

const BAD_NAMES: Record<string, string> = { nan: 'NaN', pos_inf: '+Inf', neg_inf: '−Inf' };

interface PictureProperties {
  slice: Slice;
  window: Window;
  whole: Window;
  at: At;
  marker: Marker | null;
  isAroundZero: boolean;
  onWindow(window: Window): void;
  onHover(hover: Hover | null): void;
}

export function Picture(properties: PictureProperties) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(properties);
  latest.current = properties;
  const frame = useRef<Frame>({ left: 0, top: 0, width: 1, height: 1 });
  const { slice } = properties;
  const { isAroundZero } = properties;
  const scale = useMemo(() => sliceScale(slice, isAroundZero), [slice, isAroundZero]);
  const bad = useMemo(() => Object.entries(countBad(slice)).filter(([, count]) => count > 0), [slice]);
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
  useEffect(() => paint.current(), [slice, scale, properties.marker]);
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
        <i class={isAroundZero ? 'ramp-down zero' : 'ramp-down'} />
        <span>{endTexts(scale, 4)[0]}</span>
        {bad.map(([kind, count]) => (
          <span key={kind} class={`bad-key ${kind}`} title={`${formatCount(count)} cells of this picture`}>
            {BAD_NAMES[kind]}
          </span>
        ))}
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
