// Paints a slice: colours while cells are small, numbers as well when they are large.

import { channelsOf, cutScale, heatColour, textOn, type Scale } from '../base/colours';
import { formatNumber } from '../base/format';
import { cssColour, interfaceScale } from '../base/theme';
import type { Slice } from './slice_model';

const NUMBERS_FROM = 46;
const MARKS_FROM = 6;

// Values that are not finite have a colour and a pattern each: NaN red with slanted lines, +Inf with lines across, -Inf with lines down. Larger
// cells have a cross for NaN, and triangles that point up and down, instead of lines.
type Bad = 'nan' | 'pos_inf' | 'neg_inf';
const BAD_CHANNELS: Record<Bad, [number, number, number]> = { nan: [217, 48, 63], pos_inf: [190, 45, 190], neg_inf: [0, 140, 130] };
const DARKER = 0.62;

function badOf(value: number): Bad | null {
  if (Number.isFinite(value)) return null;
  return Number.isNaN(value) ? 'nan' : value > 0 ? 'pos_inf' : 'neg_inf';
}

function isOnLine(bad: Bad, row: number, column: number): boolean {
  if (bad === 'nan') return (row + column) % 3 === 0;
  return (bad === 'pos_inf' ? row : column) % 2 === 1;
}

export function countBad(slice: Slice): Record<Bad, number> {
  const counts = { nan: 0, pos_inf: 0, neg_inf: 0 };
  for (const value of slice.values) {
    const bad = badOf(value);
    if (bad) counts[bad]++;
  }
  return counts;
}

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Marker {
  row: number;
  column: number;
}

export function hasBothSigns({ values }: Slice): boolean {
  const isFinite = (value: number) => Number.isFinite(value);
  return values.some((value) => value < 0 && isFinite(value)) && values.some((value) => value > 0 && isFinite(value));
}

export function sliceScale(slice: Slice, isAroundZero: boolean): Scale {
  let smallest = Infinity;
  let largest = -Infinity;
  for (const value of slice.values) {
    if (!Number.isFinite(value)) continue;
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  const scale = cutScale({ smallest, largest, logarithmic: false }, slice.values, 0.005);
  if (!isAroundZero) return scale;
  const most = Math.max(Math.abs(scale.smallest), Math.abs(scale.largest));
  const isCut = (scale.isCutBelow || scale.isCutAbove) && Math.max(Math.abs(smallest), Math.abs(largest)) > most;
  return { smallest: -most, largest: most, logarithmic: false, isAroundZero, isCutBelow: isCut, isCutAbove: isCut };
}

// Where the picture is in the canvas: as large as fits with square cells, unless that makes it very flat or narrow.
export function frameFor(slice: Slice, width: number, height: number): Frame {
  const margin = { left: 46 * interfaceScale(), top: 20 * interfaceScale() };
  const room = { width: Math.max(width - margin.left - 8, 10), height: Math.max(height - margin.top - 8, 10) };
  const cell = Math.min(room.width / slice.columns, room.height / slice.rows);
  const smallestSide = 90 * interfaceScale();
  return {
    left: margin.left,
    top: margin.top,
    width: Math.min(room.width, Math.max(cell * slice.columns, smallestSide)),
    height: Math.min(room.height, Math.max(cell * slice.rows, smallestSide)),
  };
}

function picture(slice: Slice, scale: Scale, hasLines: boolean): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = slice.columns;
  canvas.height = slice.rows;
  const pen = canvas.getContext('2d')!;
  const image = pen.createImageData(slice.columns, slice.rows);
  slice.values.forEach((value, i) => {
    const bad = badOf(value);
    const channels = bad ? BAD_CHANNELS[bad] : channelsOf(value, scale);
    const isDarker = hasLines && bad !== null && isOnLine(bad, Math.floor(i / slice.columns), i % slice.columns);
    image.data.set(isDarker ? channels.map((channel) => channel * DARKER) : channels, 4 * i);
    image.data[4 * i + 3] = 255;
  });
  pen.putImageData(image, 0, 0);
  return canvas;
}

interface Painting {
  context: CanvasRenderingContext2D;
  slice: Slice;
  frame: Frame;
  scale: Scale;
}

function cellSize(slice: Slice, frame: Frame): number {
  return Math.min(frame.width / slice.columns, frame.height / slice.rows);
}

function areNumbersShown(slice: Slice, frame: Frame): boolean {
  return frame.width / slice.columns >= NUMBERS_FROM * interfaceScale() && frame.height / slice.rows >= 15 * interfaceScale();
}

function paintNumbers({ context, slice, frame, scale }: Painting): void {
  const width = frame.width / slice.columns;
  const height = frame.height / slice.rows;
  if (!areNumbersShown(slice, frame)) return;
  context.font = `${Math.min(11 * interfaceScale(), height * 0.6)}px ui-monospace, "DejaVu Sans Mono", monospace`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let row = 0; row < slice.rows; row++) {
    for (let column = 0; column < slice.columns; column++) {
      const value = slice.values[row * slice.columns + column];
      context.fillStyle = Number.isFinite(value) ? textOn(value, scale) : '#ffffff';
      const x = frame.left + (column + 0.5) * width;
      context.fillText(formatNumber(value, width > 70 ? 4 : 3), x, frame.top + (row + 0.5) * height, width - 4);
    }
  }
}

// A cross for NaN, triangles for Inf, where cells are too small for numbers and large enough for marks.
function paintMarks({ context, slice, frame }: Painting): void {
  const width = frame.width / slice.columns;
  const height = frame.height / slice.rows;
  const size = cellSize(slice, frame);
  if (size < MARKS_FROM || areNumbersShown(slice, frame)) return;
  context.beginPath();
  slice.values.forEach((value, i) => {
    const bad = badOf(value);
    if (!bad) return;
    const x = frame.left + ((i % slice.columns) + 0.5) * width;
    const y = frame.top + (Math.floor(i / slice.columns) + 0.5) * height;
    const by = size * 0.28;
    const up = bad === 'pos_inf' ? -by : by;
    context.moveTo(x - by, y - (bad === 'nan' ? by : up));
    context.lineTo(bad === 'nan' ? x + by : x, bad === 'nan' ? y + by : y + up);
    if (bad === 'nan') context.moveTo(x - by, y + by);
    context.lineTo(x + by, bad === 'nan' ? y - by : y - up);
  });
  context.strokeStyle = '#ffffff';
  context.lineWidth = Math.max(1, size / 9);
  context.stroke();
}

function tickStep(cells: number, pixels: number, apart: number): number {
  const least = Math.max(1, (cells * apart) / pixels);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= least) ?? 1;
}

function paintAxes(painting: Painting, firstRow: number, firstColumn: number): void {
  const { context, slice, frame } = painting;
  context.fillStyle = cssColour('--muted');
  context.font = `${10.5 * interfaceScale()}px system-ui, "DejaVu Sans", sans-serif`;
  const columns = slice.columns * slice.columnsPerCell;
  const rows = slice.rows * slice.rowsPerCell;
  const across = tickStep(columns, frame.width, 44 * interfaceScale());
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  for (let column = Math.ceil(firstColumn / across) * across; column < firstColumn + columns; column += across) {
    const x = frame.left + ((column - firstColumn + 0.5) / columns) * frame.width;
    context.fillText(String(column), x, frame.top - 4);
  }
  const down = tickStep(rows, frame.height, 18 * interfaceScale());
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (let row = Math.ceil(firstRow / down) * down; row < firstRow + rows; row += down) {
    context.fillText(String(row), frame.left - 5, frame.top + ((row - firstRow + 0.5) / rows) * frame.height);
  }
}

export function paintSlice(
  context: CanvasRenderingContext2D,
  slice: Slice,
  scale: Scale,
  size: { width: number; height: number },
  origin: { row: number; column: number },
  marker: Marker | null,
): Frame {
  const frame = frameFor(slice, size.width, size.height);
  const ratio = devicePixelRatio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = cssColour('--background');
  context.fillRect(0, 0, size.width, size.height);
  context.imageSmoothingEnabled = slice.columns * ratio > frame.width * 1.5;
  const hasLines = cellSize(slice, frame) < MARKS_FROM;
  context.drawImage(picture(slice, scale, hasLines), frame.left, frame.top, frame.width, frame.height);
  const painting = { context, slice, frame, scale };
  paintMarks(painting);
  paintNumbers(painting);
  paintAxes(painting, origin.row, origin.column);
  if (marker) {
    const width = frame.width / slice.columns;
    const height = frame.height / slice.rows;
    const x = frame.left + Math.floor((marker.column - origin.column) / slice.columnsPerCell) * width;
    const y = frame.top + Math.floor((marker.row - origin.row) / slice.rowsPerCell) * height;
    context.strokeStyle = cssColour('--text');
    context.lineWidth = 3 * interfaceScale();
    context.strokeRect(x - 2, y - 2, width + 4, height + 4);
    context.strokeStyle = heatColour(1);
    context.lineWidth = 1.5 * interfaceScale();
    context.strokeRect(x - 2, y - 2, width + 4, height + 4);
  }
  return frame;
}
