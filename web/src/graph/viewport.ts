// Where a graph is looked at. Two canvases with one viewport move together.

import type { Tiles } from './tiles';
import type { Size, View } from './scene';

const SMALLEST_SCALE = 1e-4;
const LARGEST_SCALE = 8;

export class Viewport {
  view: View = { x: 0, y: 0, k: 1 };
  size: Size = { width: 1, height: 1 };
  private readonly listeners = new Set<() => void>();

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  set(view: View): void {
    this.view = { ...view, k: Math.min(Math.max(view.k, SMALLEST_SCALE), LARGEST_SCALE) };
    this.listeners.forEach((listener) => listener());
  }

  pan(across: number, down: number): void {
    this.set({ x: this.view.x - across / this.view.k, y: this.view.y - down / this.view.k, k: this.view.k });
  }

  // Zooms and keeps the point (x, y) of the window in its place.
  zoom(factor: number, x = this.size.width / 2, y = this.size.height / 2): void {
    const before = this.toGraph(x, y);
    const k = Math.min(Math.max(this.view.k * factor, SMALLEST_SCALE), LARGEST_SCALE);
    this.set({ x: before.x - (x - this.size.width / 2) / k, y: before.y - (y - this.size.height / 2) / k, k });
  }

  toGraph(x: number, y: number): { x: number; y: number } {
    return { x: this.view.x + (x - this.size.width / 2) / this.view.k, y: this.view.y + (y - this.size.height / 2) / this.view.k };
  }

  toWindow(x: number, y: number): { x: number; y: number } {
    return { x: (x - this.view.x) * this.view.k + this.size.width / 2, y: (y - this.view.y) * this.view.k + this.size.height / 2 };
  }

  fit(tiles: Tiles, largest: number, item = tiles.root): void {
    const width = tiles.right[item] - tiles.left[item];
    const height = tiles.bottom[item] - tiles.top[item];
    if (!(width > 0 && height > 0)) return;
    const k = Math.min((this.size.width - 48) / width, (this.size.height - 48) / height, largest);
    this.set({ x: (tiles.left[item] + tiles.right[item]) / 2, y: (tiles.top[item] + tiles.bottom[item]) / 2, k });
  }

  // The whole when that can be read, else the whole width of `item` from its top.
  begin(tiles: Tiles, readable: number, item = tiles.root): void {
    this.fit(tiles, readable);
    if (this.view.k >= readable * 0.6) return;
    const width = tiles.right[item] - tiles.left[item];
    const k = Math.min((this.size.width - 48) / width, readable * (item === tiles.root ? 1 : 0.75));
    if (k < readable * 0.35) return;
    this.set({ x: (tiles.left[item] + tiles.right[item]) / 2, y: tiles.top[item] + (this.size.height / 2 - 24) / k, k });
  }

  centre(tiles: Tiles, item: number, k: number): void {
    this.set({ x: (tiles.left[item] + tiles.right[item]) / 2, y: (tiles.top[item] + tiles.bottom[item]) / 2, k });
  }

  isVisible(tiles: Tiles, item: number): boolean {
    const from = this.toWindow(tiles.left[item], tiles.top[item]);
    const to = this.toWindow(tiles.right[item], tiles.bottom[item]);
    return from.x >= 0 && from.y >= 0 && to.x <= this.size.width && to.y <= this.size.height;
  }
}
