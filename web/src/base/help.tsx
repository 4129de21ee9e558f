// The keys and the pointer, on one page.

import { Dialog } from './dialog';

const KEYS: [string, string][] = [
  ['/', 'search for an op, a module, a type, a line of source'],
  ['↓ ↑', 'graph: follow an edge to what reads the output, or to what made the input'],
  ['← →', 'graph: go to the others of the same op'],
  ['n', 'graph: next op with NaN or Inf'],
  ['d', 'graph of two dumps: next op that adds its own error'],
  ['f', 'graph: show all'],
  ['+ −', 'graph: zoom'],
  ['Enter', 'open or close the selected group; open the selected row'],
  ['Esc', 'close the panel, the search or this page'],
  ['1 … 6', 'the views, in the order of the bar'],
  ['r', 'from one rank of a job to all of them'],
  ['t', 'dark or light'],
  ['?', 'this page'],
];
const POINTER: [string, string][] = [
  ['drag', 'move the graph or the picture'],
  ['wheel', 'zoom where the pointer is; with Shift sideways'],
  ['click', 'select'],
  ['double click', 'open or close a group; open a row'],
];

function Rows({ rows }: { rows: [string, string][] }) {
  return (
    <dl class="keys">
      {rows.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Help({ onClose }: { onClose(): void }) {
  return (
    <Dialog kind="help" label="Help" onClose={onClose}>
      <button type="button" class="quiet close" aria-label="Close" onClick={onClose}>
        ×
      </button>
      <h2>Keyboard</h2>
      <Rows rows={KEYS} />
      <h2>Pointer</h2>
      <Rows rows={POINTER} />
      <p>The address of this page holds all that you see: send it as a link together with the dump.</p>
    </Dialog>
  );
}
