// What is open: at first what is known at once, then all. Asked again now and then: a comparison goes on, files may change, a dump may still be written.

import { useCallback, useEffect, useState } from 'preact/hooks';
import { get, isReport } from './api';
import type { DumpAnswer } from './types';
import { messageOf } from './use_answer';

const WHOLE = '/api/dump';
const SOON = 1000;
const LATER = 10000;

interface State {
  answer: DumpAnswer | null;
  error: string | null;
}

export interface OpenDump extends State {
  reload(): void;
}

export function useDump(): OpenDump {
  const [state, setState] = useState<State>({ answer: null, error: null });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    let isWhole = false; // A whole answer is shown: of a dump that grows the first one of the next turn says less.
    const load = async (path: string) => {
      const answer = await get<DumpAnswer>(path);
      // The same answer is the same object, so that nothing is drawn again.
      const next = (old: State) =>
        old.error === null && JSON.stringify(old.answer) === JSON.stringify(answer) ? old : { answer, error: null };
      if (!gone && (answer.complete || !isWhole)) setState(next);
      isWhole ||= answer.complete;
      return answer;
    };
    const ask = async () => {
      let wait = LATER;
      try {
        let answer = await load(isReport() ? WHOLE : `${WHOLE}?wait=no`);
        const begun = performance.now();
        if (!answer.complete && !gone) answer = await load(WHOLE);
        if (gone) return;
        // Looking through a large dump that grows must not be all that the machine does.
        wait = Math.max(wait, 10 * (performance.now() - begun));
        if (answer.compare?.state === 'running') wait = SOON;
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
