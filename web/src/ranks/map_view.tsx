// The picture of ranks by steps: blue to yellow for the distance from the median of the ranks, red for NaN and Inf, hatched for no records.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { endTexts, heatColour, shareOf, type Scale } from '../base/colours';
import { change, numberOf, type Place } from '../base/place';
import { Problem } from '../base/parts';
import type { RankMap, RanksAnswer } from '../base/types';
import { Ramp } from '../graph/legend';
import { cellText, moved, placeIn, scaleOfMap, type MapPlace } from './map_model';

// Pixels, where the font has its ordinary size.
const LEAST_ROW = 5;
const MOST_ROW = 20;
const HEIGHT = 280;

interface Shape {
  width: number;
  row: number;
  ratio: number;
}

function colourOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function paint(canvas: HTMLCanvasElement, map: RankMap, scale: Scale | null, chosen: MapPlace | null, shape: Shape): void {
  const pen = canvas.getContext('2d')!;
  const { width, row: high, ratio } = shape;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(high * map.ranks.length * ratio);
  pen.scale(ratio, ratio);
  const wide = width / map.steps.length;
  const gap = high > 10 && wide > 6 ? 1 : 0;
  const [bad, missing, line, plain] = ['--bad', '--missing', '--missing-line', '--node'].map(colourOf);
  map.ranks.forEach((rank, row) => {
    map.steps.forEach((_, column) => {
      const distance = rank.distances[column];
      const isMissing = rank.records[column] === 0;
      if (rank.nonfinite[column] > 0) pen.fillStyle = bad;
      else if (isMissing) pen.fillStyle = missing;
      else pen.fillStyle = distance === null || !scale ? plain : heatColour(shareOf(distance, scale));
      const [x, y] = [column * wide, row * high];
      pen.fillRect(x, y, wide - gap, high - gap);
      if (!isMissing) return;
      pen.strokeStyle = line;
      pen.beginPath();
      pen.moveTo(x, y + high - gap);
      pen.lineTo(x + wide - gap, y);
      pen.stroke();
    });
  });
  if (!chosen) return;
  // Two lines, one of which stands out from any colour; around small cells, within others.
  const side = Math.min(wide, high) < 10 ? -1 : 1;
  for (const [colour, inner] of [
    ['--accent', side],
    ['--background', 3 * side],
  ] as const) {
    pen.strokeStyle = colourOf(colour);
    pen.lineWidth = 2;
    pen.strokeRect(chosen.column * wide + inner, chosen.row * high + inner, wide - gap - 2 * inner, high - gap - 2 * inner);
  }
}

// Pixels of the page for one of the font, so that 4K screens get larger rows.
function fontScale(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 13;
}

function useShape(map: RankMap) {
  const box = useRef<HTMLDivElement>(null);
  const [shape, setShape] = useState<Shape | null>(null);
  useEffect(() => {
    const measure = () => {
      const grown = fontScale();
      const row = Math.min(Math.max(HEIGHT / map.ranks.length, LEAST_ROW), MOST_ROW) * grown;
      setShape({ width: box.current!.clientWidth, row, ratio: devicePixelRatio });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, [map]);
  return { box, shape };
}

function useTheme(): string {
  const [theme, setTheme] = useState('');
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(document.documentElement.dataset.theme ?? ''));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => observer.disconnect();
  }, []);
  return theme;
}

function RankNames({ map, row }: { map: RankMap; row: number }) {
  const every = Math.max(1, Math.ceil((1.5 * 13 * fontScale()) / row));
  return (
    <div class="rank-names" aria-hidden="true">
      {map.ranks.map((rank, i) => (
        <span key={rank.rank} style={{ height: `${row}px`, lineHeight: `${row}px` }}>
          {i % every === 0 ? rank.rank : ''}
        </span>
      ))}
    </div>
  );
}

export function MapView({ map, dumps, place }: { map: RankMap; dumps: RanksAnswer['dumps']; place: Place }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { box, shape } = useShape(map);
  const [hovered, setHovered] = useState<MapPlace | null>(null);
  const theme = useTheme();
  const scale = useMemo(() => scaleOfMap(map), [map]);
  const chosen = placeIn(map, numberOf(place, 'rank'), numberOf(place, 'step'));
  useEffect(() => {
    if (canvas.current && shape && shape.width > 0) paint(canvas.current, map, scale, chosen, shape);
  }, [map, shape, chosen?.row, chosen?.column, theme]);
  if (map.steps.length === 0) return <Problem text="No record of the job has a step." />;
  const choose = (next: MapPlace) => change({ rank: map.ranks[next.row].rank, step: map.steps[next.column].first }, true);
  const at = (event: MouseEvent): MapPlace => {
    const area = canvas.current!.getBoundingClientRect();
    const share = (value: number, size: number, count: number) => Math.min(Math.max(Math.floor((value / size) * count), 0), count - 1);
    return {
      row: share(event.clientY - area.top, area.height, map.ranks.length),
      column: share(event.clientX - area.left, area.width, map.steps.length),
    };
  };
  const linkOf = (cell: MapPlace) => {
    const dump = dumps.find((one) => one.ranks.includes(map.ranks[cell.row].rank));
    return dump && `/dump/${dump.number}/#graph?heat=nonfinite&step=${map.steps[cell.column].first}`;
  };
  const press = (event: KeyboardEvent) => {
    const ways: Record<string, [number, number]> = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const way = ways[event.key];
    const link = chosen && linkOf(chosen);
    if (way) choose(moved(map, chosen, ...way));
    else if (event.key === 'Enter' && link) location.href = link;
    else return;
    event.preventDefault();
  };
  const told = hovered ?? chosen;
  const link = chosen ? linkOf(chosen) : undefined;
  return (
    <div class="rank-map">
      <div class="rank-rows">
        {shape && <RankNames map={map} row={shape.row} />}
        <div class="rank-cells" ref={box}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="img"
            aria-label={told ? cellText(map, told) : 'Ranks by steps; arrows choose a cell'}
            style={{ width: '100%', height: shape ? `${shape.row * map.ranks.length}px` : 0 }}
            onMouseMove={(event) => setHovered(at(event))}
            onMouseLeave={() => setHovered(null)}
            onClick={(event) => choose(at(event))}
            onDblClick={(event) => {
              const opened = linkOf(at(event));
              if (opened) location.href = opened;
            }}
            onKeyDown={press}
          />
        </div>
      </div>
      <div class="rank-steps">
        <span>step {map.steps[0].first}</span>
        <span>{map.steps[map.steps.length - 1].last}</span>
      </div>
      <p class="rank-told" role="status">
        {told ? cellText(map, told) : 'Point at a cell, or choose it with a click or the arrows.'} {link && <a href={link}>Open it →</a>}
      </p>
      <div class="legend-keys">
        <span class="key bad">NaN or Inf</span>
        <span class="key missing">no records</span>
        {(!scale || map.ranks.some((rank) => rank.distances.includes(null))) && <span class="key plain">not judged</span>}
      </div>
      {scale && (
        <div class="rank-scale">
          <span>{endTexts(scale, 3)[0]}</span>
          <Ramp />
          <span>{endTexts(scale, 3)[1]}</span>
          <span>from the median of the ranks{scale.logarithmic ? ', logarithmic' : ''}</span>
        </div>
      )}
    </div>
  );
}
