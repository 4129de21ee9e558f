// What the last frames took, for tests and `./dev bench --web`.

import type { Scene } from './scene';
import type { Viewport } from './viewport';

export interface FrameCounts {
  frames: number;
  marks: number;
  mostMarks: number;
  mostLabels: number;
  milliseconds: number[];
  // What the last frame showed.
  scene: Scene;
}

declare global {
  interface Window {
    tensortapFrames: FrameCounts;
    tensortapViewport: Viewport;
  }
}

export function countFrame(scene: Scene, labels: number, milliseconds: number): void {
  window.tensortapFrames ??= { frames: 0, marks: 0, mostMarks: 0, mostLabels: 0, milliseconds: [], scene };
  const counts = window.tensortapFrames;
  const { marks } = scene;
  counts.frames++;
  counts.scene = scene;
  counts.marks = marks;
  counts.mostMarks = Math.max(counts.mostMarks, marks);
  counts.mostLabels = Math.max(counts.mostLabels, labels);
  counts.milliseconds.push(milliseconds);
  if (counts.milliseconds.length > 4000) counts.milliseconds.splice(0, 2000);
}
