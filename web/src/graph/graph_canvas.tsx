// The canvas of a graph: paints when something changed, and turns pointer movements into a view.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { interfaceScale } from '../base/theme';
import { EdgeIndex } from './edge_index';
import { countFrame } from './frame_counts';
import type { Graph } from './graph_model';
import { itemHeat, type Heat } from './heat';
import { Painter } from './paint';
import { Scene } from './scene';
import { tilesOf } from './tiles';
import type { Viewport } from './viewport';

interface Properties {
  scene: Scene;
  viewport: Viewport;
  heat: Heat | null;
  bad: Heat | null;
  selected: number;
  flow: readonly number[];
  flowIsError: boolean;
  label: string;
  onSelect(node: number): void;
  onOpen(node: number): void;
  onSized?(): void;
}

export function sceneOf(graph: Graph): Scene {
  return new Scene(graph, tilesOf(graph), new EdgeIndex(graph));
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

  useEffect(() => {
    const element = canvas.current!;
    const painter = new Painter(element.getContext('2d', { alpha: false })!);
    let waiting = 0;
    const paint = () => {
      waiting = 0;
      const now = latest.current;
      const begin = performance.now();
      const ratio = devicePixelRatio;
      now.scene.choose(viewport.view, viewport.size, interfaceScale());
      painter.paint(now.scene, viewport.view, viewport.size, ratio, now.colours, now);
      countFrame(now.scene.marks, painter.labels, performance.now() - begin);
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
    resize();
    return () => {
      cancelAnimationFrame(waiting);
      observer.disconnect();
      removeEventListener('themechange', repaint);
      stop();
      stopPointers();
    };
  }, [viewport]);

  useEffect(() => request.current(), [scene, colours, properties.selected, properties.flow, properties.flowIsError]);
  return <canvas ref={canvas} class="graph-canvas" tabIndex={0} role="application" aria-label={properties.label} />;
}

function followPointers(element: HTMLCanvasElement, viewport: Viewport, latest: () => Properties): () => void {
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;
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
    if (down.delete(event.pointerId) && moved < 4 && event.type === 'pointerup') latest().onSelect(under(event));
  };
  const twice = (event: MouseEvent) => {
    const item = under(event);
    if (item >= 0) latest().onOpen(item);
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
