// The same flight over any graph: from far away down to where ops can be read, along the graph, and away again.

import type { Page } from 'playwright-core';
import type {} from '../src/graph/frame_counts.ts';

export interface Flight {
  frames: number;
  mostMarks: number;
  mostLabels: number;
  // Milliseconds of script for a frame, and between two frames; 95 of 100 are shorter.
  script: number;
  interval: number;
}

export async function fly(page: Page, frames: number): Promise<Flight> {
  await page.waitForFunction(() => window.tensortapFrames?.frames > 0);
  return page.evaluate(
    (count) =>
      new Promise<Flight>((done) => {
        const viewport = window.tensortapViewport;
        const counts = window.tensortapFrames;
        Object.assign(counts, { frames: 0, mostMarks: 0, mostLabels: 0, milliseconds: [] });
        const far = { ...viewport.view };
        const intervals: number[] = [];
        let last = 0;
        let i = 0;
        const share = (values: number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
        const step = (now: number) => {
          if (last > 0) intervals.push(now - last);
          last = now;
          if (i === count) {
            const { mostMarks, mostLabels, milliseconds } = counts;
            done({ frames: counts.frames, mostMarks, mostLabels, script: share(milliseconds), interval: share(intervals) });
            return;
          }
          const phase = i++ / count;
          const near = Math.sin(Math.PI * phase) ** 2;
          const k = far.k * (1.2 / far.k) ** near;
          viewport.set({ x: far.x, y: far.y * (0.4 + phase * 1.2), k });
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    frames,
  );
}
