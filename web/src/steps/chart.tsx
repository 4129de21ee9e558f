// The curves as a part of the page: drag to zoom, click or arrow keys to choose a step.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { chartData, nearestStep, valueRange, wholeRange, type Curve, type Range } from './chart_model';
import { paintChart, planeFor, stepAt, type Plane } from './chart_paint';

interface Properties {
  curves: Curve[];
  gaps: number[];
  logarithmic: boolean;
  chosen: number | null;
  onChoose(step: number): void;
  onHover(step: number | null): void;
}

export function Chart(properties: Properties) {
  const { curves, gaps, logarithmic, chosen } = properties;
  const canvas = useRef<HTMLCanvasElement>(null);
  const data = useMemo(() => chartData(curves, gaps, logarithmic), [curves, gaps, logarithmic]);
  const [zoom, setZoom] = useState<Range | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const plane = useRef<Plane | null>(null);
  const paint = useRef(() => undefined as void);
  paint.current = () => {
    const element = canvas.current;
    if (!element) return; // the observer of its size may come after it went
    const box = element.getBoundingClientRect();
    if (box.width < 120 || box.height < 80) return;
    element.width = Math.round(box.width * devicePixelRatio);
    element.height = Math.round(box.height * devicePixelRatio);
    const steps = zoom ?? wholeRange(data);
    plane.current = planeFor(box.width, box.height, steps, valueRange(data, steps));
    paintChart(element.getContext('2d')!, box, plane.current, data, { chosen, hovered, dragged });
  };
  useEffect(() => paint.current());
  useEffect(() => setZoom(null), [curves]);
  useEffect(() => {
    const repaint = () => paint.current();
    const observer = new ResizeObserver(repaint);
    observer.observe(canvas.current!);
    addEventListener('themechange', repaint);
    return () => {
      observer.disconnect();
      removeEventListener('themechange', repaint);
    };
  }, []);
  const hover = (step: number | null) => {
    setHovered(step);
    properties.onHover(step);
  };
  const x = (event: PointerEvent) => event.clientX - canvas.current!.getBoundingClientRect().left;
  const release = (event: PointerEvent) => {
    if (!dragged || !plane.current) return;
    const [from, to] = [Math.min(dragged[0], x(event)), Math.max(dragged[0], x(event))];
    setDragged(null);
    if (to - from > 6) return setZoom({ from: stepAt(plane.current, from), to: stepAt(plane.current, to) });
    const step = nearestStep(data, stepAt(plane.current, x(event)));
    if (step !== null) properties.onChoose(step);
  };
  const move = (event: PointerEvent) => {
    if (dragged) setDragged([dragged[0], x(event)]);
    if (plane.current) hover(nearestStep(data, stepAt(plane.current, x(event))));
  };
  const press = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (event.key === 'f') setZoom(null);
    if (by === 0 || data.steps.length === 0) return;
    event.preventDefault();
    const at = chosen === null ? (by > 0 ? -1 : data.steps.length) : data.steps.indexOf(chosen);
    properties.onChoose(data.steps[Math.min(Math.max(at + by, 0), data.steps.length - 1)]);
  };
  return (
    <canvas
      ref={canvas}
      class="chart"
      tabIndex={0}
      role="img"
      aria-label={`Curves over the steps: ${curves.map((curve) => curve.name).join('; ')}. Left and right choose a step.`}
      onPointerDown={(event) => setDragged([x(event), x(event)])}
      onPointerMove={move}
      onPointerUp={release}
      onPointerLeave={() => (setDragged(null), hover(null))}
      onDblClick={() => setZoom(null)}
      onKeyDown={press}
    />
  );
}
