// What is open. Asked again now and then: a comparison goes on, files may change, a dump may still be written.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { get, isReport } from './api';
import type { DumpAnswer } from './types';
import { messageOf } from './use_answer';

const SOON = 1000;
const LATER = 10000;

export interface OpenDump {
  answer: DumpAnswer | null;
  error: string | null;
  reload(): void;
}

export function useDump(): OpenDump {
  const [state, setState] = useState<{ answer: DumpAnswer | null; error: string | null }>({ answer: null, error: null });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const ask = async () => {
      let wait = LATER;
      try {
        const answer = await get<DumpAnswer>('/api/dump');
        if (gone) return;
        if (answer.compare?.state === 'running') wait = SOON;
        // The same answer is the same object, so that nothing is drawn again.
        setState((old) => (old.error === null && JSON.stringify(old.answer) === JSON.stringify(answer) ? old : { answer, error: null }));
      } catch (problem) {
        if (gone) return;
        setState((old) => ({ answer: old.answer, error: messageOf(problem) }));
      }
      if (!isReport()) timer = window.setTimeout(() => void ask(), document.hidden ? LATER : wait);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [turn]);
  return { ...state, reload };
}
