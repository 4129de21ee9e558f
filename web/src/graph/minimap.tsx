// The whole graph in a corner, and in it the part that is shown. A click or a drag moves that part.

import { useEffect, useRef } from 'preact/hooks';
import { cssColour, interfaceScale } from '../base/theme';
import type { Scene } from './scene';
import type { Viewport } from './viewport';

const WIDTH = 150;
const HEIGHT = 110;
const MOST_BOXES = 4000;

interface Fit {
  k: number;
  left: number;
  top: number;
}

function fitOf({ tiles }: Scene, width: number, height: number): Fit {
  const { root } = tiles;
  const [across, down] = [tiles.right[root] - tiles.left[root], tiles.bottom[root] - tiles.top[root]];
  const k = Math.min((width - 8) / across, (height - 8) / down);
  return { k, left: (width - across * k) / 2 - tiles.left[root] * k, top: (height - down * k) / 2 - tiles.top[root] * k };
}

// Paints the outer boxes, at most MOST_BOXES.
function paintGraph(pen: CanvasRenderingContext2D, { tiles, graph }: Scene, { k, left, top }: Fit): void {
  pen.fillStyle = cssColour('--edge');
  pen.globalAlpha = 0.35;
  const last = Math.min(tiles.items, MOST_BOXES);
  for (let i = 1; i < last; i++) {
    const item = tiles.order[i];
    if (item >= graph.nodes && tiles.children[item]) continue;
    const [width, height] = [tiles.right[item] - tiles.left[item], tiles.bottom[item] - tiles.top[item]];
    pen.fillRect(left + tiles.left[item] * k, top + tiles.top[item] * k, Math.max(width * k, 1), Math.max(height * k, 1));
  }
  pen.globalAlpha = 1;
}

export function Minimap({ scene, viewport }: { scene: Scene; viewport: Viewport }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current!;
    const pen = element.getContext('2d')!;
    const [width, height] = [WIDTH * interfaceScale(), HEIGHT * interfaceScale()];
    element.width = width * devicePixelRatio;
    element.height = height * devicePixelRatio;
    const picture = document.createElement('canvas');
    const fit = fitOf(scene, width, height);
    const paintPicture = () => {
      picture.width = element.width;
      picture.height = element.height;
      const brush = picture.getContext('2d')!;
      brush.scale(devicePixelRatio, devicePixelRatio);
      paintGraph(brush, scene, fit);
    };
    let waiting = 0;
    const paint = () => {
      waiting = 0;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, element.width, element.height);
      pen.drawImage(picture, 0, 0);
      pen.scale(devicePixelRatio, devicePixelRatio);
      const [from, to] = [viewport.toGraph(0, 0), viewport.toGraph(viewport.size.width, viewport.size.height)];
      const box = [from.x * fit.k + fit.left, from.y * fit.k + fit.top, (to.x - from.x) * fit.k, (to.y - from.y) * fit.k] as const;
      pen.strokeStyle = cssColour('--accent');
      pen.lineWidth = 1.5;
      pen.strokeRect(box[0], box[1], Math.max(box[2], 3), Math.max(box[3], 3));
    };
    const ask = () => {
      if (waiting === 0) waiting = requestAnimationFrame(paint);
    };
    const repaint = () => {
      paintPicture();
      ask();
    };
    repaint();
    const move = (event: PointerEvent) => {
      if (event.buttons === 0) return;
      const place = element.getBoundingClientRect();
      const [x, y] = [event.clientX - place.left, event.clientY - place.top];
      viewport.set({ x: (x - fit.left) / fit.k, y: (y - fit.top) / fit.k, k: viewport.view.k });
    };
    const press = (event: PointerEvent) => {
      element.setPointerCapture(event.pointerId);
      move(event);
    };
    element.addEventListener('pointerdown', press);
    element.addEventListener('pointermove', move);
    addEventListener('themechange', repaint);
    const stop = viewport.listen(ask);
    return () => {
      cancelAnimationFrame(waiting);
      element.removeEventListener('pointerdown', press);
      element.removeEventListener('pointermove', move);
      removeEventListener('themechange', repaint);
      stop();
    };
  }, [scene, viewport]);
  return <canvas ref={canvas} class="minimap" role="img" aria-label="The whole graph; a click moves what is shown" />;
}
