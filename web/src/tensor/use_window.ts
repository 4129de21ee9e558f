// The part of the picture that is shown. It goes into the address when it has stood still for a moment: browsers bound how often that may be.

import { useEffect, useRef, useState } from 'preact/hooks';
import { change } from '../base/place';
import { formatZoom, parseZoom, type Window } from './slice_model';

const STILL = 300;

interface Held {
  // The part is of these dimensions and was chosen while the address said this; otherwise the address holds.
  free: string;
  zoom: string | null;
  window: Window;
}

export function useWindow(whole: Window, zoom: string | null, free: string): [Window, (window: Window) => void] {
  const [held, setHeld] = useState<Held | null>(null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), [free, zoom]);
  const isHeld = held !== null && held.free === free && held.zoom === zoom;
  const set = (window: Window) => {
    setHeld({ free, zoom, window });
    clearTimeout(timer.current);
    const before = location.hash;
    timer.current = setTimeout(() => {
      // The page may show another tensor by now.
      if (location.hash !== before) return;
      const text = formatZoom(window, whole);
      change({ zoom: text }, true);
      setHeld({ free, zoom: text, window });
    }, STILL);
  };
  return [isHeld ? held.window : parseZoom(zoom, whole), set];
}
