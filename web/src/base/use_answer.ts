// An answer of the server as state of a component; the one before stays until the next arrives.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from './api';

export interface Answer<Type> {
  value: Type | null;
  error: string | null;
  loading: boolean;
  path: string | null;
}

export function useLoaded<Type>(path: string | null, load: (path: string, signal: AbortSignal) => Promise<Type>): Answer<Type> {
  const [answer, setAnswer] = useState<Answer<Type>>({ value: null, error: null, loading: path !== null, path: null });
  useEffect(() => {
    if (path === null) {
      setAnswer({ value: null, error: null, loading: false, path });
      return;
    }
    const controller = new AbortController();
    setAnswer((old) => ({ ...old, error: null, loading: true }));
    load(path, controller.signal).then(
      (value) => !controller.signal.aborted && setAnswer({ value, error: null, loading: false, path }),
      (problem: unknown) => {
        if (!controller.signal.aborted) setAnswer({ value: null, error: messageOf(problem), loading: false, path });
      },
    );
    return () => controller.abort();
  }, [path]);
  return answer;
}

export function useAnswer<Type>(path: string | null): Answer<Type> {
  return useLoaded<Type>(path, get);
}

// Keeps the last view until the answer that the page asked for arrives: an address must not meet the answer to another.
export function useKept(isThere: boolean, view: () => ComponentChildren): ComponentChildren {
  const kept = useRef<ComponentChildren>(null);
  if (isThere) kept.current = view();
  return kept.current;
}

export function messageOf(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
