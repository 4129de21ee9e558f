// Paints one frame of the graph onto a canvas.

import { heatColour, textOnHeat } from '../base/colours';
import { cssColour, interfaceScale } from '../base/theme';
import type { ItemHeat } from './heat';
import { Scene, type Size, type View } from './scene';

export const MOST_LABELS = 300;
const TEXT_FROM = 0.35;
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

export interface Colours {
  background: string;
  panel: string;
  frame: string;
  border: string;
  edge: string;
  text: string;
  muted: string;
  accent: string;
  bad: string;
  error: string;
  hatch: CanvasPattern | string;
}

export interface Marked {
  selected: number;
  // Nodes on the way of a NaN or an error, from its origin on.
  flow: readonly number[];
  flowIsError: boolean;
}

function hatching(context: CanvasRenderingContext2D, base: string, line: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d')!;
  pen.fillStyle = base;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = line;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const at of [-8, 0, 8]) {
    pen.moveTo(at - 1, 9);
    pen.lineTo(at + 9, -1);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat') ?? base;
}

export function coloursNow(context: CanvasRenderingContext2D): Colours {
  return {
    background: cssColour('--canvas'),
    panel: cssColour('--node'),
    frame: cssColour('--frame'),
    border: cssColour('--node-border'),
    edge: cssColour('--edge'),
    text: cssColour('--text'),
    muted: cssColour('--muted'),
    accent: cssColour('--accent'),
    bad: cssColour('--bad'),
    error: cssColour('--error-line'),
    hatch: hatching(context, cssColour('--missing'), cssColour('--missing-line')),
  };
}

export class Painter {
  labels = 0;
  private heat: ItemHeat | null = null;
  private colours: Colours;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.colours = coloursNow(context);
  }

  refreshColours(): void {
    this.colours = coloursNow(this.context);
  }

  paint(scene: Scene, view: View, size: Size, ratio: number, heat: ItemHeat | null, marked: Marked): void {
    const { context, colours } = this;
    this.heat = heat;
    this.labels = 0;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.background;
    context.fillRect(0, 0, size.width, size.height);
    const scale = ratio * view.k;
    context.setTransform(scale, 0, 0, scale, ratio * (size.width / 2 - view.x * view.k), ratio * (size.height / 2 - view.y * view.k));
    // Frames of outer groups come before those inside.
    for (const frame of scene.frames) this.paintFrame(scene, frame, view);
    this.paintEdges(scene, view);
    this.paintFlow(scene, view, marked);
    for (const box of scene.boxes) this.paintBox(scene, box, view);
    for (const op of scene.ops) this.paintOp(scene, op, view);
    this.outlineFlow(scene, view, marked);
    if (marked.selected >= 0) this.paintSelection(scene, marked.selected, view);
  }

  private outline(scene: Scene, item: number, radius: number): void {
    const { tiles } = scene;
    this.context.beginPath();
    this.context.roundRect(
      tiles.left[item],
      tiles.top[item],
      tiles.right[item] - tiles.left[item],
      tiles.bottom[item] - tiles.top[item],
      radius,
    );
  }

  private paintFrame(scene: Scene, item: number, view: View): void {
    const { context, colours } = this;
    this.outline(scene, item, 6);
    context.fillStyle = colours.frame;
    context.fill();
    context.strokeStyle = colours.border;
    context.lineWidth = 1 / view.k;
    context.stroke();
    if (view.k >= TEXT_FROM) {
      const width = scene.tiles.right[item] - scene.tiles.left[item] - 16;
      this.label(scene.graph.name(item), scene.tiles.left[item] + 8, scene.tiles.top[item] + 12, width, colours.muted, '600 11px');
    }
  }

  private fillOf(item: number): { fill: string | CanvasPattern; text: string; muted: string } {
    const { heat, colours } = this;
    if (heat?.isBad[item]) return { fill: colours.bad, text: '#ffffff', muted: 'rgba(255,255,255,0.85)' };
    if (heat?.isMissing[item]) return { fill: colours.hatch, text: colours.text, muted: colours.muted };
    const share = heat ? heat.share[item] : -1;
    if (share < 0) return { fill: colours.panel, text: colours.text, muted: colours.muted };
    return { fill: heatColour(share), text: textOnHeat(share), muted: textOnHeat(share) };
  }

  private paintBox(scene: Scene, item: number, view: View): void {
    const { context, colours } = this;
    const { graph, tiles } = scene;
    const look = this.fillOf(item);
    const isTile = item >= graph.nodes;
    this.outline(scene, item, Math.min(6, 4 / view.k));
    context.fillStyle = look.fill;
    context.globalAlpha = isTile ? 0.75 : 1;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = isTile ? colours.edge : colours.muted;
    context.lineWidth = (isTile ? 1 : 1.5) / view.k;
    context.stroke();
    if (isTile) return;
    const width = tiles.right[item] - tiles.left[item];
    const height = tiles.bottom[item] - tiles.top[item];
    const middle = tiles.top[item] + height / 2;
    const isOpen = graph.isOpen[item] === 1;
    // A box that hides an open group keeps its name readable as long as it fits.
    const size = isOpen ? Math.min(height / 3, Math.max(12, 11 / view.k), width / 6) : 12;
    if (size * view.k < 6.5) return;
    const ops = `${graph.opsInside[item]} ops`;
    const font = `600 ${size}px`;
    if (height > 2.6 * size) {
      this.label(graph.name(item), tiles.left[item] + size * 0.7, middle - size * 0.65, width - size * 1.4, look.text, font);
      this.label(ops, tiles.left[item] + size * 0.7, middle + size * 0.65, width - size * 1.4, look.muted, `${size * 0.9}px`);
    } else {
      this.label(`${graph.name(item)} · ${ops}`, tiles.left[item] + 8, middle, width - 16, look.text, font);
    }
  }

  private paintOp(scene: Scene, item: number, view: View): void {
    const { context, colours } = this;
    const { graph, tiles } = scene;
    const look = this.fillOf(item);
    context.fillStyle = look.fill;
    if (view.k < 0.2) {
      context.fillRect(tiles.left[item], tiles.top[item], graph.width[item], graph.height[item]);
      return;
    }
    this.outline(scene, item, 4);
    context.fill();
    context.strokeStyle = colours.border;
    context.lineWidth = 1 / view.k;
    context.stroke();
    if (view.k < TEXT_FROM) return;
    const left = tiles.left[item] + 8;
    const width = graph.width[item] - 16;
    const middle = tiles.top[item] + graph.height[item] / 2;
    const name = graph.name(item);
    const type = graph.type(item);
    const second = type && type !== name && graph.height[item] >= 30;
    this.label(name, left, second ? middle - 7 : middle, width, look.text, '600 12px');
    if (second) this.label(type, left, middle + 8, width, look.muted, '11px');
  }

  // Text that does not fit is cut, with an ellipsis. Counts against MOST_LABELS.
  private label(text: string, x: number, y: number, width: number, colour: string, font: string): void {
    if (this.labels >= MOST_LABELS || width < 8) return;
    this.labels++;
    const { context } = this;
    context.font = `${font} ${FONT}`;
    context.textBaseline = 'middle';
    context.fillStyle = colour;
    context.fillText(fitted(context, text, width), x, y);
  }

  private paintEdges(scene: Scene, view: View): void {
    const { context, colours } = this;
    const { graph } = scene;
    context.strokeStyle = colours.edge;
    context.lineWidth = Math.max(1, interfaceScale()) / view.k;
    context.beginPath();
    for (const edge of scene.edges) this.trace(graph.points, graph.pointStart[edge], graph.pointStart[edge + 1]);
    context.stroke();
    if (view.k < TEXT_FROM) return;
    context.fillStyle = colours.edge;
    context.beginPath();
    for (const edge of scene.edges) this.arrow(graph.points, graph.pointStart[edge + 1]);
    context.fill();
  }

  private trace(points: Float32Array, from: number, to: number): void {
    const { context } = this;
    if (to - from < 4) return;
    context.moveTo(points[from], points[from + 1]);
    for (let at = from + 2; at + 1 < to; at += 2) {
      const middle = (points[at - 1] + points[at + 1]) / 2;
      context.bezierCurveTo(points[at - 2], middle, points[at], middle, points[at], points[at + 1]);
    }
  }

  private arrow(points: Float32Array, end: number): void {
    const x = points[end - 2];
    const y = points[end - 1];
    this.context.moveTo(x, y);
    this.context.lineTo(x - 3.5, y - 7);
    this.context.lineTo(x + 3.5, y - 7);
    this.context.closePath();
  }

  private paintFlow(scene: Scene, view: View, marked: Marked): void {
    const { context, colours } = this;
    const { graph, tiles } = scene;
    if (marked.flow.length < 2) return;
    const scale = interfaceScale();
    context.strokeStyle = marked.flowIsError ? colours.error : colours.bad;
    context.lineWidth = (3.5 * scale) / view.k;
    context.lineJoin = context.lineCap = 'round';
    context.beginPath();
    for (let i = 1; i < marked.flow.length; i++) {
      const from = marked.flow[i - 1];
      const to = marked.flow[i];
      if (from === to) continue;
      const x0 = (tiles.left[from] + tiles.right[from]) / 2;
      const x1 = (tiles.left[to] + tiles.right[to]) / 2;
      const edge = edgeBetween(scene, from, to);
      if (edge >= 0) {
        this.trace(graph.points, graph.pointStart[edge], graph.pointStart[edge + 1]);
      } else {
        const down = tiles.top[to] > tiles.bottom[from];
        const y0 = down ? tiles.bottom[from] : tiles.top[from];
        const y1 = down ? tiles.top[to] : tiles.bottom[to];
        context.moveTo(x0, y0);
        context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      }
    }
    context.stroke();
  }

  // The ops on the way, the origin more strongly.
  private outlineFlow(scene: Scene, view: View, marked: Marked): void {
    const { context, colours } = this;
    const scale = interfaceScale();
    context.strokeStyle = marked.flowIsError ? colours.error : colours.bad;
    for (const node of marked.flow) {
      this.outline(scene, node, 4);
      context.lineWidth = (node === marked.flow[0] ? 4 : 2) * (scale / view.k);
      context.stroke();
    }
  }

  private paintSelection(scene: Scene, item: number, view: View): void {
    const { context, colours } = this;
    const { tiles } = scene;
    const gap = 4 / view.k;
    context.beginPath();
    context.roundRect(
      tiles.left[item] - gap,
      tiles.top[item] - gap,
      tiles.right[item] - tiles.left[item] + 2 * gap,
      tiles.bottom[item] - tiles.top[item] + 2 * gap,
      6 / view.k,
    );
    context.strokeStyle = colours.accent;
    context.lineWidth = (3 * interfaceScale()) / view.k;
    context.stroke();
  }
}

export function edgeBetween(scene: Scene, from: number, to: number): number {
  for (const edge of scene.edgesOf(from)) {
    if (scene.graph.edgeFrom[edge] === from && scene.graph.edgeTo[edge] === to) return edge;
  }
  return -1;
}

const widths = new Map<string, string>();

// The text, or as much of its beginning as fits. Long names differ at their ends, so the middle is cut.
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${context.font}|${Math.round(width)}|${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (widths.size > 5000) widths.clear();
  let result = text;
  if (context.measureText(text).width > width) {
    let low = 1;
    let high = text.length;
    while (low < high) {
      const keep = (low + high + 1) >> 1;
      if (context.measureText(cut(text, keep)).width <= width) low = keep;
      else high = keep - 1;
    }
    result = cut(text, low);
  }
  widths.set(key, result);
  return result;
}

function cut(text: string, keep: number): string {
  const end = Math.floor(keep / 3);
  return text.slice(0, keep - end) + '…' + (end > 0 ? text.slice(-end) : '');
}
