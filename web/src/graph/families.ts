// Ops by what they do, so that a graph without heat has colours that mean something. Red stays for NaN and Inf.

export interface Family {
  name: string;
  // The variable of graph.css with its colour; '' where the op has that of a plain box.
  colour: string;
}

export const FAMILIES: Family[] = [
  { name: 'other', colour: '' },
  { name: 'input, weight', colour: '--family-given' },
  { name: 'matrix product', colour: '--family-product' },
  { name: 'normalisation', colour: '--family-normal' },
  { name: 'activation', colour: '--family-activation' },
  { name: 'reduction', colour: '--family-reduction' },
  { name: 'shape, copy', colour: '--family-move' },
  { name: 'arithmetic', colour: '--family-arithmetic' },
];

// The first that fits holds.
const RULES: [RegExp, number][] = [
  [/^(initializer|input|constant|parameter|weight|buffer|empty|ones|zeros|full|arange|rand|uniform|normal_|fill)/i, 1],
  [/matmul|gemm|conv(?!ert)|linear|(^|_)(add|b)?mm($|_)|einsum|attention|lstm|gru/i, 2],
  [/norm|softmax/i, 3],
  [/relu|gelu|silu|tanh|sigmoid|swish|mish|softplus|(^|_)c?elu/i, 4],
  [/reduce|sum|mean|pool|arg_?m|loss|topk|^_?(max|min|var|std)/i, 5],
  [
    /reshape|view|transpose|permute|slice|concat|cat$|split|gather|scatter|index|copy|detach|expand|squeeze|stack|pad|cast|flatten|identity|shape|lift|select|alias|clone|tile|^t$/i,
    6,
  ],
  [
    /add|sub|mul|div|pow|exp|log|sqrt|neg|abs|where|equal|greater|less|lerp|clamp|clip|sin|cos|erf|floor|ceil|round|_?foreach|^(eq|ne|gt|lt|ge|le)$/i,
    7,
  ],
];

export function familyOf(type: string): number {
  return RULES.find(([words]) => words.test(type))?.[1] ?? 0;
}
