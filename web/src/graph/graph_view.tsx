// The graph with its colours: one dump, or two beside each other that move together.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { pathOf } from '../base/api';
import { counted } from '../base/format';
import { interfaceScale } from '../base/theme';
import { Choice, Loading, Problem, StepChoice } from '../base/parts';
import { change, numberOf, readPlace, type Place } from '../base/place';
import type { DumpAnswer, Which } from '../base/types';
import { useAnswer } from '../base/use_answer';
import './frame_counts';
import { GraphCanvas } from './graph_canvas';
import { NO_OP } from './graph_model';
import { HEAT_KEYS, PAIR_KEYS, type Heat } from './heat';
import { useGraphKeys } from './graph_keys';
import { Legend } from './legend';
import { Minimap } from './minimap';
import { OpPanel } from './op_panel';
import type { Scene } from './scene';
import { useFlow, useHeat, useScene, type Opened } from './use_graph';
import { Viewport } from './viewport';

// A smaller graph is seen as a whole.
const MINIMAP_FROM = 20;

function openedBy(place: Place, reveal: number | null): Opened {
  return {
    open: place.parameters.get('open') ?? '',
    plus: place.parameters.getAll('plus'),
    minus: place.parameters.getAll('minus'),
    reveal,
  };
}

// Groups around a node, the innermost first.
function groupsAround(scene: Scene, node: number): string[] {
  const ids: string[] = [];
  for (let at = scene.graph.parent[node]; at >= 0; at = scene.graph.parent[at]) ids.push(scene.graph.groupId(at));
  return ids;
}

function groupNode(scene: Scene, id: string): number {
  for (let node = 0; node < scene.graph.nodes; node++) if (scene.graph.isGroup[node] && scene.graph.groupId(node) === id) return node;
  return -1;
}

function readView(place: Place) {
  const [x, y, k] = ['x', 'y', 'k'].map((name) => numberOf(place, name));
  return x !== null && y !== null && k !== null && k > 0 ? { x, y, k } : null;
}

interface Anchor {
  id: string;
  x: number;
  y: number;
}

// Keeps the place of the window: what the link says, else the selected op, else the beginning.
function usePosition(scene: Scene | null, viewport: Viewport, place: Place, selected: number, sized: number) {
  // The user already sees a node that was clicked: the graph does not move.
  const clicked = useRef(false);
  const anchor = useRef<Anchor | null>(null);
  const placed = useRef<Scene | null>(null);
  useEffect(() => {
    if (!scene || sized === 0 || placed.current === scene) return;
    const isFirst = placed.current === null;
    placed.current = scene;
    const kept = anchor.current;
    anchor.current = null;
    const node = kept ? groupNode(scene, kept.id) : -1;
    if (kept && node >= 0) {
      const now = viewport.toWindow(scene.tiles.left[node], scene.tiles.top[node]);
      viewport.pan(kept.x - now.x, kept.y - now.y);
      clicked.current = true;
      // The user wants to see the group that opens.
      if (scene.graph.isOpen[node] && !viewport.isVisible(scene.tiles, node)) viewport.begin(scene.tiles, viewport.view.k, node);
      return;
    }
    const wanted = isFirst ? readView(place) : null;
    if (wanted) viewport.set(wanted);
    else if (selected >= 0) viewport.centre(scene.tiles, selected, isFirst ? interfaceScale() : Math.max(viewport.view.k, 0.5));
    else if (isFirst) viewport.begin(scene.tiles, interfaceScale(), scene.firstModule());
  }, [scene, sized]);
  useEffect(() => {
    const isSeen = clicked.current;
    clicked.current = false;
    if (!scene || selected < 0 || placed.current !== scene || isSeen) return;
    if (viewport.isVisible(scene.tiles, selected) && viewport.view.k >= 0.35 * interfaceScale()) return;
    viewport.centre(scene.tiles, selected, Math.max(viewport.view.k, 0.6 * interfaceScale()));
  }, [selected, scene]);
  return { anchor, clicked };
}

// The view goes into the fragment when it has stood still for a moment.
function useViewInPlace(viewport: Viewport) {
  useEffect(() => {
    let timer = 0;
    const keep = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        // The fragment may already name another view, while this one is still there.
        if (readPlace(location.hash).view !== 'graph') return;
        const { x, y, k } = viewport.view;
        change({ x: x.toFixed(1), y: y.toFixed(1), k: k.toPrecision(4) }, true);
      }, 400);
    };
    const stop = viewport.listen(keep);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [viewport]);
}

export function GraphView({ place, answer }: { place: Place; answer: DumpAnswer }) {
  const which: Which = place.parameters.get('dump') === 'b' ? 'b' : 'a';
  const isPair = answer.dumps.length > 1;
  const beside = isPair && place.parameters.get('beside') === '1';
  const dump = answer.dumps[which === 'b' ? 1 : 0] ?? answer.dumps[0];
  const op = numberOf(place, 'op');
  const step = numberOf(place, 'step');
  const by = place.parameters.get('heat') ?? 'nonfinite';
  const [reveal, setReveal] = useState(op);
  const [sized, setSized] = useState(0);
  const viewport = useMemo(() => new Viewport(), []);
  window.tensortapViewport = viewport;

  const loaded = useScene(dump, which, openedBy(place, reveal));
  const scene = loaded.value;
  const heat = useHeat(dump, which, by, step);
  const bad = useHeat(dump, which, 'nonfinite', step);
  const errors = useHeat(isPair ? dump : null, which, 'own', step);
  const way = useFlow(which, numberOf(place, 'flow'), scene);
  const flowIsError = place.parameters.get('way') === 'error';

  const group = place.parameters.get('group');
  const shown = scene && op !== null ? scene.graph.shown(op) : -1;
  const selected = scene && group !== null ? groupNode(scene, group) : shown;
  useEffect(() => {
    if (scene && op !== null && group === null && !loaded.loading && (shown < 0 || scene.graph.isGroup[shown]) && reveal !== op)
      setReveal(op);
  }, [scene, op, group, shown, loaded.loading]);
  const type = place.parameters.get('type');
  const ofType = useAnswer<{ ops: number[] }>(type === null ? null : pathOf('/api/ops', { dump: which, type }));
  const highlight = useMemo(
    () => (scene && type !== null && !ofType.loading ? scene.itemsOf(type, ofType.value?.ops ?? []) : null),
    [scene, type, ofType.value, ofType.loading],
  );
  const { anchor, clicked } = usePosition(scene, viewport, place, selected, sized);
  useViewInPlace(viewport);

  const select = (node: number) => {
    if (!scene || node < 0) change({ op: null, group: null });
    else if (scene.graph.isGroup[node]) change({ group: scene.graph.groupId(node) });
    else change({ op: scene.graph.op[node] === NO_OP ? null : scene.graph.op[node], group: null });
  };
  const toggle = (node: number) => {
    if (!scene || !scene.graph.isGroup[node]) return;
    const id = scene.graph.groupId(node);
    const plus = new Set(place.parameters.getAll('plus'));
    const minus = new Set(place.parameters.getAll('minus'));
    if (reveal !== null && shown >= 0) groupsAround(scene, shown).forEach((outer) => plus.add(outer));
    plus.delete(id);
    minus.delete(id);
    (scene.graph.isOpen[node] ? minus : plus).add(id);
    const at = viewport.toWindow(scene.tiles.left[node], scene.tiles.top[node]);
    anchor.current = { id, ...at };
    setReveal(null);
    change({ plus: [...plus], minus: [...minus], group: id });
  };
  const fit = () => scene && viewport.fit(scene.tiles, 1.5 * interfaceScale());
  useGraphKeys({ scene, viewport, selected, op, bad: bad.value, errors: errors.value, select, toggle, fit });

  const keys: Record<string, string> = { ...HEAT_KEYS, ...(isPair ? PAIR_KEYS : {}) };
  const common = { viewport, flow: way.nodes, flowIsError, onOpen: toggle };
  return (
    <div class="graph-view">
      <div class="toolbar" role="toolbar" aria-label="Graph">
        <Choice label="Colour" value={by} options={keys} onChange={(value) => change({ heat: value === 'nonfinite' ? null : value })} />
        <StepChoice steps={dump.steps} value={step} onChange={(value) => change({ step: value })} />
        <OpenChoice place={place} onChange={() => setReveal(null)} />
        {isPair && (
          <label class="check">
            <input type="checkbox" checked={beside} onChange={() => change({ beside: beside ? null : '1' })} />A and B side by side
          </label>
        )}
        {type !== null && (
          <button type="button" class="chip" title="End the highlight" onClick={() => change({ type: null })}>
            {ofType.value ? `${counted(ofType.value.ops.length, 'op')} of ${type}` : type} ×
          </button>
        )}
        <span class="spring" />
        {(loaded.loading || heat.loading) && <span class="busy">loading</span>}
        <span class="together">
          <button type="button" class="quiet" title="Zoom out (-)" aria-label="Zoom out" onClick={() => viewport.zoom(1 / 1.4)}>
            −
          </button>
          <button type="button" class="quiet" title="Zoom in (+)" aria-label="Zoom in" onClick={() => viewport.zoom(1.4)}>
            +
          </button>
          <button type="button" class="quiet" title="Show all (f)" onClick={fit}>
            Fit
          </button>
        </span>
      </div>
      <Problem text={loaded.error ?? heat.error ?? way.error} />
      <div class="graph-row">
        <div class="graph-area">
          {scene ? (
            <GraphCanvas
              {...common}
              scene={scene}
              which={which}
              heat={heat.value}
              bad={bad.value}
              selected={selected}
              highlight={highlight}
              label={`Graph of ${dump.name}. Arrow keys follow the edges.`}
              onSelect={(node) => {
                clicked.current = true;
                select(node);
              }}
              onSized={() => setSized((count) => count + 1)}
            />
          ) : (
            !loaded.error && <Loading text="Laying out the graph …" />
          )}
          {scene && <Legend scene={scene} heat={heat.value} flow={way.nodes.length > 1} flowIsError={flowIsError} />}
          {scene && scene.graph.nodes >= MINIMAP_FROM && <Minimap scene={scene} viewport={viewport} />}
          {beside && <span class="side-name">A</span>}
        </div>
        {beside && <Beside answer={answer} place={place} which={which} viewport={viewport} by={by} step={step} />}
        {op !== null && group === null && (
          <aside class="panel" aria-label="Selected op" aria-live="polite">
            <ClosePanel />
            <OpPanel op={op} dump={dump} which={which} step={step} isCompared={answer.compare?.state === 'ready'} />
          </aside>
        )}
        {group !== null && scene && selected >= 0 && (
          <aside class="panel" aria-label="Selected group" aria-live="polite">
            <ClosePanel />
            <GroupPanel scene={scene} node={selected} toggle={toggle} />
          </aside>
        )}
      </div>
    </div>
  );
}

function OpenChoice({ place, onChange }: { place: Place; onChange(): void }) {
  const options = { auto: 'as fits', all: 'all', none: 'none' };
  return (
    <Choice
      label="Open groups"
      value={place.parameters.get('open') ?? 'auto'}
      options={options}
      onChange={(value) => {
        onChange();
        change({ open: value === 'auto' ? null : value, plus: null, minus: null, group: null });
      }}
    />
  );
}

function ClosePanel() {
  return (
    <button type="button" class="quiet close" aria-label="Close" title="Close (Esc)" onClick={() => change({ op: null, group: null })}>
      ×
    </button>
  );
}

function GroupPanel({ scene, node, toggle }: { scene: Scene; node: number; toggle(node: number): void }) {
  const { graph } = scene;
  return (
    <>
      <h2 class="op-name">{graph.groupId(node).replace(/^g:/, '') || graph.name(node)}</h2>
      <p>Group of {graph.opsInside[node]} ops.</p>
      <button type="button" onClick={() => toggle(node)}>
        {graph.isOpen[node] ? 'Close the group' : 'Open the group'}
      </button>
    </>
  );
}

interface BesideProperties {
  answer: DumpAnswer;
  place: Place;
  which: Which;
  viewport: Viewport;
  by: string;
  step: number | null;
}

// The other dump of a pair, in the same place and with the same groups open.
function Beside({ answer, place, which, viewport, by, step }: BesideProperties) {
  const other: Which = which === 'a' ? 'b' : 'a';
  const dump = answer.dumps[other === 'b' ? 1 : 0];
  const loaded = useScene(dump, other, openedBy(place, null));
  const heat = useHeat(dump, other, by, step);
  const bad: Heat | null = useHeat(dump, other, 'nonfinite', step).value;
  return (
    <div class="graph-area">
      <span class="side-name">{other.toUpperCase()}</span>
      <Problem text={loaded.error} />
      {loaded.value && (
        <GraphCanvas
          scene={loaded.value}
          which={other}
          viewport={viewport}
          heat={heat.value}
          bad={bad}
          selected={-1}
          flow={[]}
          flowIsError={false}
          highlight={null}
          label={`Graph of ${dump.name}`}
          onSelect={() => undefined}
          onOpen={() => undefined}
        />
      )}
    </div>
  );
}
