// Numbers and names as the commands print them.

import type { Value } from './types';

// Four digits; whole numbers in full.
export function formatValue(value: unknown, digits = 4): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  return formatNumber(value, digits);
}

export function formatNumber(value: number, digits = 4): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const size = Math.abs(value);
  if (size >= 10 ** digits && size < 1e5) return String(Math.round(value));
  const text = size >= 1e-3 && size < 10 ** digits ? value.toPrecision(digits) : value.toExponential(digits - 1);
  const [mantissa, exponent] = text.split('e');
  const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  return exponent === undefined ? short : `${short}e${exponent.replace('+', '')}`;
}

export function numberFrom(value: Value | undefined): number {
  if (value === 'inf') return Infinity;
  if (value === '-inf') return -Infinity;
  return typeof value === 'number' ? value : NaN;
}

export function isNonFinite(value: unknown): boolean {
  return value === 'nan' || value === 'inf' || value === '-inf';
}

export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function counted(count: number, one: string, many = one + 's'): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

// "3 equal, 5 different"; verdicts that no pair has are left out.
export function formatVerdicts(verdicts: Record<string, number>): string {
  const found = Object.entries(verdicts).filter(([, count]) => count > 0);
  return found.map(([verdict, count]) => `${formatCount(count)} ${verdict}`).join(', ');
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let size = bytes;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? size : size.toPrecision(3)} ${units[unit]}`;
}

export function formatShape(shape: number[] | null | undefined): string {
  return shape ? `[${shape.join(', ')}]` : '';
}

export function lastPart(name: string): string {
  const at = name.lastIndexOf('/');
  return at < 0 || at === name.length - 1 ? name : name.slice(at + 1);
}

// The file's own name and the line: `/home/x/train.py:41` becomes `train.py:41`.
export function shortSource(source: string): string {
  return source.slice(source.lastIndexOf('/') + 1);
}

// Steps as ranges: 0-3, 7.
export function formatSteps(steps: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < steps.length;) {
    let end = i;
    while (end + 1 < steps.length && steps[end + 1] === steps[end] + 1) end++;
    parts.push(end > i ? `${steps[i]}–${steps[end]}` : `${steps[i]}`);
    i = end + 1;
  }
  return parts.length > 12 ? [...parts.slice(0, 11), '…', parts[parts.length - 1]].join(', ') : parts.join(', ');
}
