// Paints one frame of the graph onto a canvas.

import { heatColour, textOnHeat } from '../base/colours';
import { cssColour, interfaceScale } from '../base/theme';
import { FAMILIES } from './families';
import { fontOf, LetterWidths } from './fitted';
import { edgesBetween } from './flow_edges';
import type { ItemHeat } from './heat';
import { Scene, type Size, type View } from './scene';
import type { Tiles } from './tiles';

export const MOST_LABELS = 300;
const TEXT_FROM = 0.35;
const TWO_LINES_FROM = 0.7;
const BORDERS_FROM = 0.12;
const CURVES_FROM = 0.2;
// How far letters shrink before a text is cut: in shares of their size, and in pixels.
const SMALLER = 0.72;
const SMALLEST_LETTERS = 6.5;

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
  families: string[];
}

export interface Marked {
  selected: number;
  // Nodes on the way of a NaN or an error, from its origin on.
  flow: readonly number[];
  flowIsError: boolean;
  // Of each item whether it is, or holds, an op of the type that is looked for; null: none is.
  highlight: Uint8Array | null;
  // Ops without heat have the colour of their family.
  byFamily: boolean;
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
    families: FAMILIES.map(({ colour }) => cssColour(colour || '--node')),
    hatch: hatching(context, cssColour('--missing'), cssColour('--missing-line')),
  };
}

interface Line {
  x: number;
  y: number;
  width: number;
}

export class Painter {
  labels = 0;
  private view: View = { x: 0, y: 0, k: 1 };
  private size: Size = { width: 1, height: 1 };
  private ratio = 1;
  private readonly letters = new LetterWidths();
  private heat: ItemHeat | null = null;
  private marked: Marked | null = null;
  private colours: Colours;

  constructor(private readonly context: CanvasRenderingContext2D) {
    this.colours = coloursNow(context);
  }

  refreshColours(): void {
    this.colours = coloursNow(this.context);
  }

  paint(scene: Scene, view: View, size: Size, ratio: number, heat: ItemHeat | null, marked: Marked): void {
    const { context, colours } = this;
    Object.assign(this, { heat, view, size, ratio, marked, labels: 0 });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.background;
    context.fillRect(0, 0, size.width, size.height);
    this.intoGraph();
    // Frames of outer groups come before those inside.
    for (const frame of scene.frames) this.paintFrame(scene, frame, view);
    this.paintEdges(scene, view);
    this.paintFlow(scene, view, marked);
    for (const box of scene.boxes) this.paintBox(scene, box, view);
    this.paintOps(scene, view);
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
      const at = { x: scene.tiles.left[item] + 8, y: scene.tiles.top[item] + 12, width };
      this.label(scene.graph.name(item), at, { colour: colours.muted, size: 11, isBold: true });
    }
  }

  // What is not looked for steps back.
  private dim(item: number): number {
    return this.marked?.highlight && !this.marked.highlight[item] ? 0.22 : 1;
  }

  private fillOf(scene: Scene, item: number): { fill: string | CanvasPattern; text: string; muted: string } {
    const { heat, colours } = this;
    if (this.dim(item) < 1 && heat?.isBad[item]) return { fill: colours.bad, text: colours.text, muted: colours.muted };
    if (heat?.isBad[item]) return { fill: colours.bad, text: '#ffffff', muted: 'rgba(255,255,255,0.85)' };
    if (heat?.isMissing[item]) return { fill: colours.hatch, text: colours.text, muted: colours.muted };
    const share = heat ? heat.share[item] : -1;
    const isOp = item < scene.graph.nodes && !scene.graph.isGroup[item];
    if (share < 0 && isOp && this.marked?.byFamily) {
      return { fill: colours.families[scene.familyOf(item)], text: colours.text, muted: colours.muted };
    }
    if (share < 0) return { fill: colours.panel, text: colours.text, muted: colours.muted };
    return { fill: heatColour(share), text: textOnHeat(share), muted: textOnHeat(share) };
  }

  private paintBox(scene: Scene, item: number, view: View): void {
    const { context, colours } = this;
    const { graph, tiles } = scene;
    const look = this.fillOf(scene, item);
    const isTile = item >= graph.nodes;
    this.outline(scene, item, Math.min(6, 4 / view.k));
    context.fillStyle = look.fill;
    context.globalAlpha = (isTile ? 0.75 : 1) * this.dim(item);
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
    const bold = { colour: look.text, size, isBold: true };
    const at = { x: tiles.left[item] + size * 0.7, y: middle, width: width - size * 1.4 };
    if (height > 2.6 * size) {
      this.label(graph.name(item), { ...at, y: middle - size * 0.65 }, bold);
      this.label(ops, { ...at, y: middle + size * 0.65 }, { colour: look.muted, size: size * 0.9, isBold: false });
    } else {
      this.label(`${graph.name(item)} · ${ops}`, at, bold);
    }
  }

  private paintOps(scene: Scene, view: View): void {
    const { context, colours } = this;
    const { graph, tiles } = scene;
    const readable = view.k >= TEXT_FROM;
    for (const op of scene.ops) {
      context.globalAlpha = this.dim(op);
      context.fillStyle = this.fillOf(scene, op).fill;
      context.fillRect(tiles.left[op], tiles.top[op], graph.width[op], graph.height[op]);
    }
    context.globalAlpha = 1;
    if (view.k < BORDERS_FROM) return;
    context.beginPath();
    for (const op of scene.ops) context.rect(tiles.left[op], tiles.top[op], graph.width[op], graph.height[op]);
    context.strokeStyle = colours.border;
    context.lineWidth = 1 / view.k;
    context.stroke();
    if (readable) for (const op of scene.ops) this.labelOp(scene, op, view);
  }

  private labelOp(scene: Scene, item: number, view: View): void {
    const { graph, tiles } = scene;
    const look = this.fillOf(scene, item);
    const middle = tiles.top[item] + graph.height[item] / 2;
    const at = { x: tiles.left[item] + 6, y: middle, width: graph.width[item] - 12 };
    const name = scene.folded[item] > 0 ? `${graph.name(item)} ×${scene.folded[item]}` : graph.name(item);
    if (view.k < TWO_LINES_FROM) {
      // Small boxes: the name alone, as large as the box lets it be.
      this.label(name, at, { colour: look.text, size: Math.min(graph.height[item] * 0.6, Math.max(11, 8 / view.k)), isBold: false });
      return;
    }
    const type = graph.type(item);
    const second = type !== '' && type !== name && graph.height[item] >= 30;
    this.label(name, { ...at, y: second ? middle - 7 : middle }, { colour: look.text, size: 11.5, isBold: second });
    if (second) this.label(type, { ...at, y: middle + 8 }, { colour: look.muted, size: 11, isBold: false });
  }

  // Text that does not fit is made smaller, then cut, with an ellipsis. Counts against MOST_LABELS. Written in pixels of the window: letters of many sizes,
  // scaled by the canvas, would be drawn anew in each frame.
  private label(text: string, at: Line, look: { colour: string; size: number; isBold: boolean }): void {
    if (this.labels >= MOST_LABELS || at.width < 8) return;
    this.labels++;
    const { context, ratio, view, size } = this;
    const room = at.width * view.k;
    const largest = Math.max(1, Math.round(look.size * view.k * 2) / 2);
    const fitting = Math.floor((2 * room) / this.letters.width(text, look.isBold)) / 2;
    const letters = Math.min(largest, Math.max(fitting, largest * SMALLER, SMALLEST_LETTERS));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = fontOf(letters, look.isBold);
    context.textBaseline = 'middle';
    context.fillStyle = look.colour;
    const shown = this.letters.fit(text, room / letters, look.isBold);
    context.fillText(shown, (at.x - view.x) * view.k + size.width / 2, (at.y - view.y) * view.k + size.height / 2);
    this.intoGraph();
  }

  // What follows is drawn in units of the graph.
  private intoGraph(): void {
    const { ratio, view, size } = this;
    const scale = ratio * view.k;
    const across = ratio * (size.width / 2 - view.x * view.k);
    this.context.setTransform(scale, 0, 0, scale, across, ratio * (size.height / 2 - view.y * view.k));
  }

  private paintEdges(scene: Scene, view: View): void {
    const { context, colours } = this;
    const { graph } = scene;
    const curved = view.k >= CURVES_FROM;
    const hasArrows = view.k >= TWO_LINES_FROM;
    const draw = (from: number, end: number, colour: string, width: number, wanted: (at: number) => boolean) => {
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = (width * Math.max(1, interfaceScale())) / view.k;
      context.beginPath();
      for (let at = from; at < end; at++) {
        const edge = scene.edges[at];
        if (wanted(at)) this.trace(graph.points, graph.pointStart[edge], graph.pointStart[edge + 1], curved);
      }
      context.stroke();
      if (!hasArrows) return;
      context.beginPath();
      for (let at = from; at < end; at++) if (wanted(at)) this.arrow(graph.points, graph.pointStart[scene.edges[at] + 1]);
      context.fill();
    };
    const { selectedEdges, bundled } = scene;
    draw(selectedEdges, scene.edges.length, colours.edge, 1, (at) => bundled[at] === 1);
    draw(selectedEdges, scene.edges.length, colours.edge, 2.2, (at) => bundled[at] > 1);
    draw(0, selectedEdges, colours.accent, 2, () => true);
  }

  private trace(points: Float32Array, from: number, to: number, curved = true): void {
    const { context } = this;
    if (to - from < 4) return;
    context.moveTo(points[from], points[from + 1]);
    for (let at = from + 2; at + 1 < to; at += 2) {
      if (!curved) {
        context.lineTo(points[at], points[at + 1]);
        continue;
      }
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
    const leaps: [number, number][] = [];
    context.beginPath();
    for (let i = 1; i < marked.flow.length; i++) {
      const from = marked.flow[i - 1];
      const to = marked.flow[i];
      if (from === to) continue;
      const edges = edgesBetween(scene, from, to);
      for (const edge of edges) this.trace(graph.points, graph.pointStart[edge], graph.pointStart[edge + 1]);
      if (edges.length === 0) leaps.push([from, to]);
    }
    context.stroke();
    // From one step to the next, or through memory: no line of the graph leads there.
    context.lineWidth /= 2;
    context.setLineDash([6 / view.k, 6 / view.k]);
    context.beginPath();
    for (const [from, to] of leaps) this.leap(tiles, from, to);
    context.stroke();
    context.setLineDash([]);
  }

  private leap(tiles: Tiles, from: number, to: number): void {
    const x0 = (tiles.left[from] + tiles.right[from]) / 2;
    const x1 = (tiles.left[to] + tiles.right[to]) / 2;
    const down = tiles.top[to] > tiles.bottom[from];
    const y0 = down ? tiles.bottom[from] : tiles.top[from];
    const y1 = down ? tiles.top[to] : tiles.bottom[to];
    this.context.moveTo(x0, y0);
    this.context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
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
