// The thing under the pointer in the graph: an op with the shapes of its outputs, or a line with the shapes that flow there.

import { pathOf } from '../base/api';
import { counted, formatShape } from '../base/format';
import type { List, RecordRow, Which } from '../base/types';
import { useAnswer } from '../base/use_answer';
import { NO_OP } from './graph_model';
import type { Scene } from './scene';
import type { Viewport } from './viewport';

const NEAR = 5;
const SHOWN = 4;

export interface Hovered {
  node: number;
  // An edge, or -1 where it is the node itself.
  edge: number;
  x: number;
  y: number;
}

// The drawn line that passes within a few pixels of a point of the graph; -1 when there is none.
export function edgeAt(scene: Scene, viewport: Viewport, x: number, y: number): number {
  const { graph } = scene;
  const near = NEAR / viewport.view.k;
  for (const edge of scene.edges) {
    for (let at = graph.pointStart[edge] + 2; at + 1 < graph.pointStart[edge + 1]; at += 2) {
      const [x0, y0, x1, y1] = [graph.points[at - 2], graph.points[at - 1], graph.points[at], graph.points[at + 1]];
      if (y < Math.min(y0, y1) - near || y > Math.max(y0, y1) + near) continue;
      // The curves of paint.ts are straight up and down at their ends: x over the share of y is 3 s² - 2 s³.
      const share = y1 === y0 ? 0.5 : Math.min(Math.max((y - y0) / (y1 - y0), 0), 1);
      const wave = share * share * (3 - 2 * share);
      const slope = Math.abs(x1 - x0) / Math.max(Math.abs(y1 - y0), near);
      if (Math.abs(x - (x0 + (x1 - x0) * wave)) <= near * (1 + slope)) return edge;
    }
  }
  return -1;
}

export function HoverCard({ scene, which, hovered, room }: { scene: Scene; which: Which; hovered: Hovered; room: number }) {
  const { graph } = scene;
  const op = hovered.node < graph.nodes ? graph.op[hovered.node] : NO_OP;
  const answer = useAnswer<List<RecordRow>>(op === NO_OP ? null : pathOf('/api/records', { dump: which, op, slot: 'out', limit: SHOWN }));
  if (hovered.node >= graph.nodes) return null;
  const rows = answer.loading ? [] : (answer.value?.items ?? []);
  const shapes = [...new Set(rows.map((row) => `${row.slot} ${row.dtype} ${formatShape(row.shape)}`))];
  const name = graph.name(hovered.node);
  const type = graph.type(hovered.node);
  const place = {
    top: `${hovered.y + 14}px`,
    ...(hovered.x > room / 2 ? { right: `${room - hovered.x + 8}px` } : { left: `${hovered.x + 12}px` }),
  };
  return (
    <div class="hover-card" style={place} role="tooltip">
      <b>{hovered.edge < 0 ? name : `${name} → ${graph.name(graph.edgeTo[hovered.edge])}`}</b>
      {type && hovered.edge < 0 && type !== name && <span>{type}</span>}
      {op === NO_OP && <span>{counted(graph.opsInside[hovered.node], 'op')}</span>}
      {shapes.map((shape) => (
        <span key={shape} class="shape">
          {shape}
        </span>
      ))}
    </div>
  );
}
