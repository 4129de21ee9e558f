// A tensor of strings, as text.

import { pathOf } from './api';
import { formatCount } from './format';
import { change, numberOf, readPlace } from './place';
import { Loading, Problem } from './parts';
import type { List, Which } from './types';
import { useAnswer } from './use_answer';

const PAGE = 200;

interface Text {
  index: number[];
  text: string;
}

export function Texts({ record, which }: { record: number; which: Which }) {
  const from = numberOf(readPlace(location.hash), 'from') ?? 0;
  const answer = useAnswer<List<Text>>(pathOf(`/api/record/${record}/texts`, { dump: which, from, limit: PAGE }));
  const list = answer.value;
  if (!list) return answer.error ? <Problem text={answer.error} /> : <Loading />;
  const last = Math.min(from + PAGE, list.total);
  return (
    <div class="texts">
      <div class="toolbar" role="toolbar" aria-label="Texts">
        <span class="count" role="status">
          {list.total === 0 ? 'no texts' : `texts ${formatCount(from + 1)} to ${formatCount(last)} of ${formatCount(list.total)}`}
        </span>
        <button type="button" disabled={from === 0} onClick={() => change({ from: Math.max(0, from - PAGE) || null })}>
          Before
        </button>
        <button type="button" disabled={last >= list.total} onClick={() => change({ from: from + PAGE })}>
          Next
        </button>
      </div>
      <table class="records text-list">
        <tbody>
          {list.items.map((one) => (
            <tr key={one.index.join()}>
              <td class="number">[{one.index.join(', ')}]</td>
              <td class="text">{one.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
