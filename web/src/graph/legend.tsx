// What the colours of the graph mean.

import { useEffect, useRef } from 'preact/hooks';
import { endTexts, heatChannels, valueAt } from '../base/colours';
import { formatNumber } from '../base/format';
import { FAMILIES } from './families';
import { HEAT_KEYS, PAIR_KEYS, type Heat } from './heat';
import type { Scene } from './scene';

export function Ramp() {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pen = canvas.current!.getContext('2d')!;
    const picture = pen.createImageData(256, 1);
    for (let x = 0; x < 256; x++) picture.data.set([...heatChannels(x / 255), 255], 4 * x);
    pen.putImageData(picture, 0, 0);
  }, []);
  return <canvas ref={canvas} width={256} height={1} class="ramp" aria-hidden="true" />;
}

interface LegendProperties {
  scene: Scene;
  heat: Heat | null;
  flow: boolean;
  flowIsError: boolean;
}

export function Legend({ scene, heat, flow, flowIsError }: LegendProperties) {
  const isScale = heat && heat.by !== 'nonfinite' && heat.scale.largest >= heat.scale.smallest;
  return (
    <aside class="legend" aria-label="Colours">
      {isScale && (
        <div class="legend-scale">
          <div class="legend-title">
            {HEAT_KEYS[heat.by] ?? PAIR_KEYS[heat.by] ?? heat.by}
            {heat.scale.logarithmic ? ', logarithmic' : ''}
          </div>
          <Ramp />
          <div class="legend-ends">
            <span>{endTexts(heat.scale, 3)[0]}</span>
            <span>{formatNumber(valueAt(0.5, heat.scale), 3)}</span>
            <span>{endTexts(heat.scale, 3)[1]}</span>
          </div>
        </div>
      )}
      {!isScale && (
        <div class="legend-keys families" title="Finite ops by what they do">
          {scene
            .familiesShown()
            .map((family) => FAMILIES[family])
            .map(({ name, colour }) => (
              <span key={name} class="key" style={{ '--key': `var(${colour || '--node'})` }}>
                {name}
              </span>
            ))}
        </div>
      )}
      <div class="legend-keys">
        <span class="key bad">NaN or Inf</span>
        <span class="key missing">not captured</span>
        {isScale && <span class="key plain">not measured</span>}
        {flow && <span class={flowIsError ? 'key way error' : 'key way'}>{flowIsError ? "the error's way" : "the value's way"}</span>}
        {flow && <span class={flowIsError ? 'key leap error' : 'key leap'}>through memory or to another step</span>}
      </div>
    </aside>
  );
}
