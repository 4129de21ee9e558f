// Paints curves: red where a value is not finite, grey where a step was not captured, a dashed line where a trend begins.

import { formatNumber } from '../base/format';
import { cssColour, interfaceScale } from '../base/theme';
import { segments, ticks, type ChartData, type Range } from './chart_model';

// Told apart by people who confuse red and green; no red, which means "not finite".
const COLOURS_LIGHT = ['#0072b2', '#c98500', '#00866a', '#9a4f9e', '#3f9fd8', '#6b6b00', '#5a4fcf', '#7a5c3e'];
const COLOURS_DARK = ['#56b4e9', '#f0b030', '#34c9a3', '#d79ad9', '#8fd0ff', '#d6d65a', '#a79cff', '#c8a47e'];

export function curveColour(index: number): string {
  const colours = document.documentElement.dataset.theme === 'dark' ? COLOURS_DARK : COLOURS_LIGHT;
  return colours[index % colours.length];
}

export interface Plane {
  left: number;
  top: number;
  width: number;
  height: number;
  steps: Range;
  values: Range;
}

export function planeFor(width: number, height: number, steps: Range, values: Range): Plane {
  const scale = interfaceScale();
  return { left: 70 * scale, top: 10 * scale, width: width - 86 * scale, height: height - 52 * scale, steps, values };
}

export function xOf(plane: Plane, step: number): number {
  return plane.left + ((step - plane.steps.from) / (plane.steps.to - plane.steps.from)) * plane.width;
}

export function stepAt(plane: Plane, x: number): number {
  return plane.steps.from + ((x - plane.left) / plane.width) * (plane.steps.to - plane.steps.from);
}

function yOf(plane: Plane, value: number): number {
  return plane.top + plane.height - ((value - plane.values.from) / (plane.values.to - plane.values.from)) * plane.height;
}

export interface Pointed {
  chosen: number | null;
  hovered: number | null;
  dragged: [number, number] | null;
}

type Pen = CanvasRenderingContext2D;

function paintAxes(pen: Pen, plane: Plane, logarithmic: boolean): void {
  const scale = interfaceScale();
  pen.font = `${11 * scale}px system-ui, "DejaVu Sans", sans-serif`;
  pen.lineWidth = 1;
  pen.strokeStyle = cssColour('--border');
  pen.fillStyle = cssColour('--muted');
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  pen.beginPath();
  for (const value of ticks(plane.values, plane.height / (44 * scale), false)) {
    const y = Math.round(yOf(plane, value)) + 0.5;
    pen.moveTo(plane.left, y);
    pen.lineTo(plane.left + plane.width, y);
    pen.fillText(formatNumber(logarithmic ? 10 ** value : Number(value.toPrecision(12)), 3), plane.left - 7 * scale, y);
  }
  pen.textAlign = 'center';
  pen.textBaseline = 'top';
  for (const step of ticks(plane.steps, plane.width / (70 * scale), true)) {
    const x = Math.round(xOf(plane, step)) + 0.5;
    pen.moveTo(x, plane.top);
    pen.lineTo(x, plane.top + plane.height);
    pen.fillText(String(step), x, plane.top + plane.height + 6 * scale);
  }
  pen.stroke();
  pen.fillText('step', plane.left + plane.width / 2, plane.top + plane.height + 23 * scale);
}

function band(pen: Pen, plane: Plane, step: number, least: number): void {
  const left = xOf(plane, step - 0.5);
  const width = Math.max(least, xOf(plane, step + 0.5) - left);
  pen.fillRect(left, plane.top, width, plane.height);
}

function paintMarks(pen: Pen, plane: Plane, data: ChartData): void {
  const scale = interfaceScale();
  pen.fillStyle = cssColour('--missing');
  for (const step of data.gaps) band(pen, plane, step, 1);
  pen.fillStyle = cssColour('--bad');
  for (const step of data.bad) {
    pen.globalAlpha = 0.16;
    band(pen, plane, step, 2 * scale);
    pen.globalAlpha = 1;
    pen.fillRect(xOf(plane, step) - 2.5 * scale, plane.top + plane.height - 8 * scale, 5 * scale, 8 * scale);
  }
  pen.textBaseline = 'top';
  pen.strokeStyle = pen.fillStyle = cssColour('--warn');
  pen.lineWidth = 1.5 * scale;
  pen.setLineDash([4 * scale, 3 * scale]);
  data.curves
    .flatMap((curve) => curve.trends)
    .forEach((trend, i) => {
      const x = xOf(plane, trend.since);
      line(pen, x, plane);
      const fits = x + 80 * scale < plane.left + plane.width;
      pen.textAlign = fits ? 'left' : 'right';
      pen.fillText(trend.kind, fits ? x + 5 * scale : x - 5 * scale, plane.top + (4 + (i % 5) * 15) * scale);
    });
  pen.setLineDash([]);
}

function line(pen: Pen, x: number, plane: Plane): void {
  pen.beginPath();
  pen.moveTo(x, plane.top);
  pen.lineTo(x, plane.top + plane.height);
  pen.stroke();
}

function paintCurves(pen: Pen, plane: Plane, data: ChartData): void {
  const scale = interfaceScale();
  pen.lineJoin = 'round';
  data.curves.forEach((curve, i) => {
    pen.strokeStyle = pen.fillStyle = curveColour(i);
    pen.lineWidth = 1.7 * scale;
    for (const segment of segments(data, curve)) {
      pen.beginPath();
      segment.forEach((point) => pen.lineTo(xOf(plane, point.step), yOf(plane, point.value)));
      pen.stroke();
      if (segment.length > 1 && curve.steps.length > plane.width / (9 * scale)) continue;
      for (const point of segment) {
        pen.beginPath();
        pen.arc(xOf(plane, point.step), yOf(plane, point.value), 2.4 * scale, 0, 7);
        pen.fill();
      }
    }
  });
}

export function paintChart(pen: Pen, size: { width: number; height: number }, plane: Plane, data: ChartData, pointed: Pointed): void {
  const scale = interfaceScale();
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.fillStyle = cssColour('--background');
  pen.fillRect(0, 0, size.width, size.height);
  paintAxes(pen, plane, data.logarithmic);
  pen.save();
  pen.beginPath();
  pen.rect(plane.left, plane.top, plane.width, plane.height);
  pen.clip();
  paintMarks(pen, plane, data);
  paintCurves(pen, plane, data);
  pen.lineWidth = scale;
  pen.strokeStyle = cssColour('--muted');
  if (pointed.hovered !== null) line(pen, xOf(plane, pointed.hovered), plane);
  pen.strokeStyle = cssColour('--accent');
  pen.lineWidth = 2 * scale;
  if (pointed.chosen !== null) line(pen, xOf(plane, pointed.chosen), plane);
  if (pointed.dragged) {
    pen.globalAlpha = 0.2;
    pen.fillStyle = cssColour('--accent');
    pen.fillRect(Math.min(...pointed.dragged), plane.top, Math.abs(pointed.dragged[1] - pointed.dragged[0]), plane.height);
    pen.globalAlpha = 1;
  }
  pen.restore();
}
