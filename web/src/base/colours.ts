// Blue to yellow, which people who confuse red and green also tell apart. Red means "not finite" and nothing else.

import { formatNumber } from './format';

const STOPS = [
  [0, 34, 78],
  [35, 62, 108],
  [87, 93, 109],
  [124, 123, 120],
  [165, 156, 116],
  [210, 193, 92],
  [254, 232, 56],
];
const LEVELS = 256;

// Blue below 0, orange above it, and nearly white at 0.
const STOPS_AROUND_ZERO = [
  [8, 64, 129],
  [60, 126, 186],
  [157, 196, 226],
  [245, 245, 243],
  [243, 190, 118],
  [214, 126, 28],
  [140, 72, 4],
];

type Channels = [number, number, number];

function between(stops: number[][], share: number): Channels {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const part = at - low;
  const mix = (channel: number) => Math.round(stops[low][channel] * (1 - part) + stops[low + 1][channel] * part);
  return [mix(0), mix(1), mix(2)];
}

const tableOf = (stops: number[][]) => Array.from({ length: LEVELS }, (_, level) => between(stops, level / (LEVELS - 1)));
const TABLE = tableOf(STOPS);
const TABLE_AROUND_ZERO = tableOf(STOPS_AROUND_ZERO);
const WORDS = TABLE.map(([red, green, blue]) => `rgb(${red},${green},${blue})`);
const isLight = ([red, green, blue]: Channels) => 0.299 * red + 0.587 * green + 0.114 * blue > 128;
const IS_LIGHT = TABLE.map(isLight);

function levelOf(share: number): number {
  return Math.min(LEVELS - 1, Math.max(0, Math.round(share * (LEVELS - 1))));
}

export function heatColour(share: number): string {
  return WORDS[levelOf(share)];
}

export function heatChannels(share: number): [number, number, number] {
  return TABLE[levelOf(share)];
}

// The colour of text on `heatColour(share)`.
export function textOnHeat(share: number): string {
  return IS_LIGHT[levelOf(share)] ? '#14171b' : '#ffffff';
}

// The colour of a value on a scale, and of text on it.
export function channelsOf(value: number, scale: Scale): Channels {
  return (scale.isAroundZero ? TABLE_AROUND_ZERO : TABLE)[levelOf(shareOf(value, scale))];
}

export function textOn(value: number, scale: Scale): string {
  return isLight(channelsOf(value, scale)) ? '#14171b' : '#ffffff';
}

export interface Scale {
  // From -x to x, with a colour for each sign.
  isAroundZero?: boolean;
  smallest: number;
  largest: number;
  logarithmic: boolean;
  // Whether values lie beyond an end; they have the colour of that end.
  isCutBelow?: boolean;
  isCutAbove?: boolean;
}

// Logarithmic where all values are positive and the largest is more than a thousand times the smallest.
export function scaleOf(smallest: number, largest: number, smallestPositive: number): Scale {
  const logarithmic = smallest >= 0 && smallestPositive > 0 && largest / smallestPositive > 1000;
  return { smallest: logarithmic ? smallestPositive : smallest, largest, logarithmic };
}

export function shareOf(value: number, scale: Scale): number {
  if (!(scale.largest > scale.smallest)) return 0.5;
  if (!scale.logarithmic) return (value - scale.smallest) / (scale.largest - scale.smallest);
  if (value <= scale.smallest) return 0;
  return Math.log(value / scale.smallest) / Math.log(scale.largest / scale.smallest);
}

const FAR = 0.75;

// Few values that are far away do not take the colours of all others: `share` of them, at each end, may lie beyond the scale.
export function cutScale(scale: Scale, values: Float32Array, share: number): Scale {
  const shares = values.filter(Number.isFinite);
  shares.forEach((value, i) => (shares[i] = shareOf(value, scale)));
  shares.sort();
  const cut = Math.floor(shares.length * share);
  if (cut === 0) return scale;
  const [low, high] = [shares[cut], shares[shares.length - 1 - cut]];
  const isCutBelow = high > low && low > FAR * (high - low);
  const isCutAbove = high > low && 1 - high > FAR * (high - low);
  return {
    ...scale,
    smallest: isCutBelow ? valueAt(low, scale) : scale.smallest,
    largest: isCutAbove ? valueAt(high, scale) : scale.largest,
    isCutBelow,
    isCutAbove,
  };
}

// The ends of the scale in words.
export function endTexts(scale: Scale, digits: number): [string, string] {
  const [smallest, largest] = [formatNumber(scale.smallest, digits), formatNumber(scale.largest, digits)];
  return [scale.isCutBelow ? `≤ ${smallest}` : smallest, scale.isCutAbove ? `≥ ${largest}` : largest];
}

// The value at a share of the scale, for the legend.
export function valueAt(share: number, scale: Scale): number {
  if (scale.logarithmic) return scale.smallest * (scale.largest / scale.smallest) ** share;
  return scale.smallest + (scale.largest - scale.smallest) * share;
}
