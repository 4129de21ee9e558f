// The condition of "floats only": the types that can hold NaN and Inf.

const TYPES = ['float32', 'float16', 'bfloat16', 'float64', 'float8_e4m3fn', 'float8_e4m3fnuz', 'float8_e5m2', 'float8_e5m2fnuz'];

export const FLOATS = TYPES.map((type) => `dtype == '${type}'`).join(' or ');

export function isFloat(dtype: string): boolean {
  return TYPES.includes(dtype);
}

// A condition, for floats only.
export function ofFloats(where: string): string {
  return where.trim() === '' ? FLOATS : `(${where}) and (${FLOATS})`;
}

// What ofFloats() was given; null for a condition that is not of floats only.
export function withoutFloats(where: string): string | null {
  if (where === FLOATS) return '';
  const end = `) and (${FLOATS})`;
  return where.startsWith('(') && where.endsWith(end) ? where.slice(1, -end.length) : null;
}
