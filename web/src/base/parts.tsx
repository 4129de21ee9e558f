// Small parts that several views use.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from './take_out';
import type { SourceLines } from './types';

export function Problem({ text }: { text: string | null }) {
  return text ? (
    <div class="problem" role="alert">
      {text}
    </div>
  ) : null;
}

export function Loading({ text = 'Loading …' }: { text?: string }) {
  return (
    <div class="loading" role="status">
      {text}
    </div>
  );
}

export function CopyButton({ text, children }: { text: string; children: ComponentChildren }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="quiet" title={text} onClick={() => void copy()}>
      {copied ? 'Copied' : children}
    </button>
  );
}

export function Source({ source, lines }: { source: string | null; lines: SourceLines | null }) {
  if (!source) return null;
  return (
    <section class="source" aria-label="Source">
      <div class="source-name" title={source}>
        <bdi>{source}</bdi>
      </div>
      {lines && (
        <pre tabIndex={0}>
          {lines.lines.map((text, i) => {
            const line = lines.first + i;
            return (
              <div key={line} class={line === lines.line ? 'line here' : 'line'}>
                <span class="number">{line}</span>
                <code>{text || ' '}</code>
              </div>
            );
          })}
        </pre>
      )}
    </section>
  );
}

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: Record<string, string>;
  onChange(value: string): void;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {Object.entries(options).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

// Steps one by one: all of them, or one of those that were captured.
export function StepChoice({ steps, value, onChange }: { steps: number[]; value: number | null; onChange(step: number | null): void }) {
  if (steps.length < 2) return null;
  const at = value === null ? -1 : steps.indexOf(value);
  const move = (by: number) => {
    const next = at < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.min(Math.max(at + by, 0), steps.length - 1);
    onChange(steps[next]);
  };
  const shown = steps.length <= 500 ? steps : steps.filter((_, i) => i % Math.ceil(steps.length / 500) === 0 || i === at);
  const options: Record<string, string> = { '': 'all' };
  for (const step of shown) options[` ${step}`] = String(step);
  return (
    <span class="stepper">
      <Choice
        label="Step"
        value={value === null ? '' : ` ${value}`}
        options={options}
        onChange={(text) => onChange(text === '' ? null : Number(text))}
      />
      <button type="button" class="quiet" aria-label="Step before" onClick={() => move(-1)}>
        ‹
      </button>
      <button type="button" class="quiet" aria-label="Next step" onClick={() => move(1)}>
        ›
      </button>
    </span>
  );
}

// How a verdict of a comparison looks.
export function verdictKind(verdict: string): string {
  if (verdict === 'different') return 'verdict warn';
  if (verdict === 'non-finite') return 'verdict bad';
  return 'verdict';
}
