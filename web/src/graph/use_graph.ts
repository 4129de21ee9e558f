// Loads what the graph view shows: the graph of what is open, its colours, and the way of a value.

import { useMemo } from 'preact/hooks';
import { get, getBinary, isReport, pathOf } from '../base/api';
import type { DumpInfo, Flow, Which } from '../base/types';
import { useAnswer, useLoaded, type Answer } from '../base/use_answer';
import { sceneOf } from './graph_canvas';
import { graphFromBinary, graphFromJson, type JsonGraph } from './graph_model';
import { heatFrom, type Heat } from './heat';
import type { Scene } from './scene';

const BINARY_FROM = 5000;

export interface Opened {
  open: string;
  plus: string[];
  minus: string[];
  // An op that is made visible, whatever hides it.
  reveal: number | null;
}

export function useScene(dump: DumpInfo | null, which: Which, opened: Opened): Answer<Scene> {
  const address = dump && dump.ops >= BINARY_FROM && !isReport() ? '/api/graph.bin' : '/api/graph';
  const path = dump
    ? pathOf(address, { dump: which, open: opened.open || 'auto', plus: opened.plus, minus: opened.minus, op: opened.reveal })
    : null;
  return useLoaded(path, async (asked, signal) => {
    if (asked.startsWith('/api/graph.bin')) return sceneOf(graphFromBinary(await getBinary(asked, signal)));
    return sceneOf(graphFromJson(await get<JsonGraph>(asked, signal)));
  });
}

export function useHeat(dump: DumpInfo | null, which: Which, by: string, step: number | null): Answer<Heat> {
  const path = dump && by !== 'none' ? pathOf('/api/heat', { dump: which, by, step }) : null;
  return useLoaded(path, async (asked, signal) => heatFrom(await getBinary(asked, signal), by));
}

export interface Way {
  flow: Flow | null;
  nodes: readonly number[];
  error: string | null;
}

const NOWHERE: readonly number[] = [];

export function useFlow(which: Which, record: number | null, scene: Scene | null): Way {
  const answer = useAnswer<Flow>(record === null ? null : pathOf('/api/flow', { dump: which, record }));
  const nodes = useMemo(() => {
    if (!scene || !answer.value) return NOWHERE;
    const shown = answer.value.ops.map((op) => scene.graph.shown(op)).filter((node) => node >= 0);
    return shown.filter((node, i) => i === 0 || node !== shown[i - 1]);
  }, [scene, answer.value]);
  return { flow: answer.value, nodes, error: answer.error };
}
