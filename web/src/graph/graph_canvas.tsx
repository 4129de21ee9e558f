// The canvas of a graph: paints when something changed, and turns pointer movements into a view.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted } from '../base/format';
import { interfaceScale } from '../base/theme';
import type { Which } from '../base/types';
import { countFrame } from './frame_counts';
import type { Graph } from './graph_model';
import { itemHeat, type Heat } from './heat';
import { Painter } from './paint';
import { Scene } from './scene';
import { edgeAt, HoverCard, type Hovered } from './hover_card';
import { tilesOf } from './tiles';
import type { Viewport } from './viewport';

interface Properties {
  scene: Scene;
  which: Which;
  viewport: Viewport;
  heat: Heat | null;
  bad: Heat | null;
  selected: number;
  flow: readonly number[];
  flowIsError: boolean;
  highlight: Uint8Array | null;
  label: string;
  onSelect(node: number): void;
  onOpen(node: number): void;
  onSized?(): void;
}

export function sceneOf(graph: Graph): Scene {
  return new Scene(graph, tilesOf(graph));
}

// What the picture does not show, in words.
function leftOutText({ leftOut, more, foldedNodes }: Scene): string {
  const parts: string[] = [];
  if (leftOut > 0 || more) parts.push(`${more ? 'More than ' : ''}${counted(leftOut, 'line')} left out. Zoom in, or close groups.`);
  if (foldedNodes > 0) {
    parts.push(`Lines of ${counted(foldedNodes, 'constant')} that many ops read are folded. Select one to see its lines.`);
  }
  return parts.join(' ');
}

// The innermost thing under a point: an op or a box before the open group around it.
function itemAt(scene: Scene, x: number, y: number): number {
  const { tiles } = scene;
  const holds = (item: number) => x >= tiles.left[item] && x <= tiles.right[item] && y >= tiles.top[item] && y <= tiles.bottom[item];
  const found = scene.ops.find(holds) ?? scene.boxes.find((item) => item < scene.graph.nodes && holds(item));
  if (found !== undefined) return found;
  for (let i = scene.frames.length - 1; i >= 0; i--) {
    const item = scene.frames[i];
    if (holds(item) && y <= tiles.top[item] + 24) return item;
  }
  return -1;
}

export function GraphCanvas(properties: Properties) {
  const { scene, viewport, heat, bad } = properties;
  const canvas = useRef<HTMLCanvasElement>(null);
  const colours = useMemo(() => itemHeat(scene.graph, scene.tiles, heat, bad), [scene, heat, bad]);
  const latest = useRef({ ...properties, colours });
  latest.current = { ...properties, colours };
  const request = useRef<() => void>(() => undefined);
  const [note, setNote] = useState('');
  const [hovered, setHovered] = useState<Hovered | null>(null);

  useEffect(() => {
    const element = canvas.current!;
    const painter = new Painter(element.getContext('2d', { alpha: false })!);
    let waiting = 0;
    const paint = () => {
      waiting = 0;
      const now = latest.current;
      const begin = performance.now();
      const ratio = devicePixelRatio;
      now.scene.choose(viewport.view, viewport.size, interfaceScale(), now.selected);
      const byFamily = now.heat === null || now.heat.by === 'nonfinite';
      painter.paint(now.scene, viewport.view, viewport.size, ratio, now.colours, { ...now, byFamily });
      countFrame(now.scene, painter.labels, performance.now() - begin);
      setNote(leftOutText(now.scene));
    };
    const ask = () => {
      if (waiting === 0) waiting = requestAnimationFrame(paint);
    };
    request.current = ask;
    let sized = false;
    const resize = () => {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) return;
      element.width = Math.round(box.width * devicePixelRatio);
      element.height = Math.round(box.height * devicePixelRatio);
      viewport.size = { width: box.width, height: box.height };
      if (!sized) latest.current.onSized?.();
      sized = true;
      ask();
    };
    const observer = new ResizeObserver(resize);
    observer.observe(element);
    const repaint = () => {
      painter.refreshColours();
      ask();
    };
    addEventListener('themechange', repaint);
    const stop = viewport.listen(ask);
    const stopPointers = followPointers(element, viewport, () => latest.current);
    const stopHover = followHover(element, viewport, () => latest.current.scene, setHovered);
    resize();
    return () => {
      cancelAnimationFrame(waiting);
      observer.disconnect();
      removeEventListener('themechange', repaint);
      stop();
      stopPointers();
      stopHover();
    };
  }, [viewport]);

  useEffect(() => request.current(), [scene, colours, properties.selected, properties.flow, properties.flowIsError, properties.highlight]);
  return (
    <>
      <canvas ref={canvas} class="graph-canvas" tabIndex={0} role="application" aria-label={properties.label} />
      {hovered && <HoverCard scene={scene} which={properties.which} hovered={hovered} room={viewport.size.width} />}
      {note && (
        <p class={scene.leftOut > 0 || scene.more ? 'left-out warn' : 'left-out'} role="status">
          {note}
        </p>
      )}
    </>
  );
}

const STILL = 120;
const TWICE = 500;

// Tells what the pointer rests on.
function followHover(
  element: HTMLCanvasElement,
  viewport: Viewport,
  scene: () => Scene,
  tell: (hovered: Hovered | null) => void,
): () => void {
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    tell(null);
  };
  const move = (event: PointerEvent) => {
    end();
    if (event.buttons !== 0) return;
    timer = window.setTimeout(() => {
      const box = element.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const at = viewport.toGraph(x, y);
      const now = scene();
      const item = itemAt(now, at.x, at.y);
      const edge = item < 0 ? edgeAt(now, viewport, at.x, at.y) : -1;
      if (item >= 0 || edge >= 0) tell({ node: edge < 0 ? item : now.graph.edgeFrom[edge], edge, x, y });
    }, STILL);
  };
  const stop = viewport.listen(end);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerdown', end);
  element.addEventListener('pointerleave', end);
  return () => {
    clearTimeout(timer);
    stop();
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerdown', end);
    element.removeEventListener('pointerleave', end);
  };
}

function followPointers(element: HTMLCanvasElement, viewport: Viewport, latest: () => Properties): () => void {
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;
  let first = { item: -1, time: -Infinity, x: 0, y: 0 };
  const pointOf = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const under = (event: MouseEvent) => {
    const point = pointOf(event);
    const at = viewport.toGraph(point.x, point.y);
    return itemAt(latest().scene, at.x, at.y);
  };
  const press = (event: PointerEvent) => {
    if (event.button !== 0) return;
    down.set(event.pointerId, pointOf(event));
    moved = 0;
    element.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const before = down.get(event.pointerId);
    if (!before) {
      element.style.cursor = under(event) >= 0 ? 'pointer' : 'grab';
      return;
    }
    const now = pointOf(event);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      if (apart > 0) viewport.zoom(Math.hypot(now.x - other.x, now.y - other.y) / apart, other.x, other.y);
    } else {
      viewport.pan(now.x - before.x, now.y - before.y);
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    down.set(event.pointerId, now);
  };
  const release = (event: PointerEvent) => {
    if (!down.delete(event.pointerId) || moved >= 4 || event.type !== 'pointerup') return;
    const isSecond = event.timeStamp - first.time < TWICE && Math.hypot(event.clientX - first.x, event.clientY - first.y) < 6;
    if (isSecond) return;
    first = { item: under(event), time: event.timeStamp, x: event.clientX, y: event.clientY };
    latest().onSelect(first.item);
  };
  // The panel that the first click opens moves the graph: what lay under that click counts.
  const twice = () => {
    if (first.item >= 0) latest().onOpen(first.item);
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 33 : 1;
    const point = pointOf(event);
    if (event.shiftKey) viewport.pan(-(event.deltaX || event.deltaY) * lines, 0);
    else viewport.zoom(Math.exp(-event.deltaY * lines * 0.0018 * (event.ctrlKey ? 4 : 1)), point.x, point.y);
  };
  element.addEventListener('pointerdown', press);
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerup', release);
  element.addEventListener('pointercancel', release);
  element.addEventListener('dblclick', twice);
  element.addEventListener('wheel', wheel, { passive: false });
  return () => {
    element.removeEventListener('pointerdown', press);
    element.removeEventListener('pointermove', move);
    element.removeEventListener('pointerup', release);
    element.removeEventListener('pointercancel', release);
    element.removeEventListener('dblclick', twice);
    element.removeEventListener('wheel', wheel);
  };
}
