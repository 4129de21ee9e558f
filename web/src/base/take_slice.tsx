// The part of a tensor that is shown, for other programs: every value of it, however coarse the picture is.

import { useState } from 'preact/hooks';
import { formatAt, type At, type Window } from '../tensor/slice_model';
import { isReport, type Parameters } from './api';
import { readExactly, textsOf, type ExactPart } from './exact_part';
import { counted, formatCount } from './format';
import { Menu } from './menu';
import { copyText, csvOf, fileName, npyOf, saveFile, tabbed } from './take_out';
import { messageOf } from './use_answer';

const MOST_VALUES = 1 << 24;
const MOST_COPIED = 1 << 18;

// What is saved where NumPy has no name for the type of the tensor.
const NARROW = /^(bfloat16|float8|float4|u?int[124]$)/;

interface Properties {
  address: string;
  parameters: Parameters;
  // The tensor's type; null for differences, which are computed.
  dtype: string | null;
  at: At;
  window: Window;
}

// In which type the values leave.
function typeText(dtype: string | null): string {
  if (dtype === null) return 'float64';
  return NARROW.test(dtype) ? `float32 (NumPy has no ${dtype}; float32 holds each of its values)` : dtype;
}

export function TakeSlice({ address, parameters, dtype, at, window }: Properties) {
  const [note, setNote] = useState('');
  if (isReport()) return null;
  const count = window.rows * window.columns;
  const name = fileName(`${address.replace('/api/', '')} ${formatAt(at).replaceAll(':', 'all')}`);
  const doing = async (what: (part: ExactPart) => string | Promise<string>) => {
    try {
      setNote('Reading …');
      setNote(await what(await readExactly({ address: address.replace(/slice$/, 'exact'), parameters, at: formatAt(at), ...window })));
    } catch (problem) {
      setNote(messageOf(problem));
    }
  };
  const copy = async (part: ExactPart) => {
    await copyText(tabbed(textsOf(part)));
    return `${counted(count, 'value')} copied.`;
  };
  const saveCsv = (part: ExactPart) => {
    saveFile(`${name}.csv`, [csvOf(textsOf(part))], 'text/csv');
    return `${counted(count, 'value')} saved.`;
  };
  const saveNpy = (part: ExactPart) => {
    saveFile(`${name}.npy`, npyOf(part.bytes, part.descr, part.rows, part.columns), 'application/octet-stream');
    return `${counted(count, 'value')} saved.`;
  };
  const isTooLarge = count > MOST_VALUES;
  return (
    <Menu name="Take out">
      <button type="button" disabled={count > MOST_COPIED} onClick={() => void doing(copy)}>
        Copy what is shown
      </button>
      <button type="button" disabled={isTooLarge} onClick={() => void doing(saveCsv)}>
        Save as CSV
      </button>
      <button type="button" disabled={isTooLarge} onClick={() => void doing(saveNpy)}>
        Save as .npy
      </button>
      <p role="status">
        {note ||
          (isTooLarge
            ? `These are more than ${formatCount(MOST_VALUES)} values: zoom in, or read the dump by tensortap.open().`
            : `${formatCount(window.rows)} × ${formatCount(window.columns)} values, every digit, as ${typeText(dtype)}: all of them, also where a cell of the picture shows several.`)}
      </p>
    </Menu>
  );
}
