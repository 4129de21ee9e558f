// Every view before axe, and how many clicks daily tasks take: view_scenarios.ts FOLDER_OF_PICTURES FACTS.json
// The facts name the dumps of tests/web_views_test.py and list what is in them.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { TestBrowser, type Look, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

interface Facts {
  command: string;
  // A training with its tensors, in which a layer makes a NaN: the op that makes it, its line, and the first element that is NaN.
  training: {
    dump: string;
    origin: string;
    text: string;
    element: number[];
    layerNorms: number;
    records: number;
    matrix: number;
    kinds: { record: number; dtype: string }[];
  };
  // A folder for what the page saves.
  saved: string;
  // Two dumps of one model, and the op that the difference is born in.
  pair: { wrong: string; right: string; born: string };
  // A job of several ranks, one of two ranks that part, and a dump whose program runs.
  job: string;
  two: string;
  live: string;
}

const facts = JSON.parse(readFileSync(process.argv[3], 'utf8')) as Facts;
const start = (...dumps: string[]) => Served.start(facts.command, dumps);
const servers = await Promise.all([
  start(facts.training.dump),
  start(facts.pair.wrong, facts.pair.right),
  start(facts.job),
  start(facts.two),
  start(facts.live),
]);
const [training, pair, job, two, live] = servers;

// Each view: its server, its place, and a part that appears with it.
const VIEWS: [string, Served, string, string][] = [
  ['start', training, '#start', '.overview-card'],
  ['table', training, '#table?row=3', '.row .op'],
  ['graph', training, '#graph?op=2', '.panel .op-name'],
  ['tensor', training, `#tensor?record=${facts.training.matrix}`, '.picture'],
  ['steps', training, '#steps?preset=gradients', '.curves li'],
  ['start of two', pair, '#start', '.finding'],
  ['pairs', pair, '#pairs', '.row'],
  ['pair', pair, '#pair?pair=0', '.picture'],
  ['ranks', job, '#ranks', '.rank-cells canvas'],
  ['ranks of two', two, '#ranks', '.rank-list'],
  ['live', live, '#live', '.live-records tbody tr'],
];

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function violations(visitor: Visitor): Promise<string[]> {
  await visitor.page.evaluate(AXE);
  const found = (await visitor.page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations)',
  )) as Violation[];
  return found.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`);
}

async function shown(visitor: Visitor, server: Served, fragment: string, sign: string): Promise<void> {
  await visitor.open(server.at(fragment));
  await visitor.page.waitForSelector(sign);
  await visitor.until("!document.querySelector('.busy, .loading')");
}

const LOOKS: [string, Look][] = (['light', 'dark'] as const).flatMap((scheme) =>
  [
    [1280, 720],
    [800, 600],
    [3840, 2160],
  ].map(([width, height]): [string, Look] => [`${width}x${height} ${scheme}`, { width, height, scheme }]),
);

// The size changes the contrast of nothing: axe looks once at each scheme, everything else at all of them.
function lookOf([name, look]: [string, Look]): Scenario {
  return {
    name: `every view is accessible and fits its window ${name}`,
    look,
    async run(visitor) {
      const wrong: string[] = [];
      for (const [view, server, fragment, sign] of VIEWS) {
        await shown(visitor, server, fragment, sign);
        await visitor.picture(`view ${view} ${name}`);
        const wide = await visitor.page.evaluate('document.documentElement.scrollWidth > innerWidth');
        if (wide) wrong.push(`${view}: the page is wider than the window`);
        if (look.width === 1280) for (const one of await violations(visitor)) wrong.push(`${view}: ${one}`);
      }
      equal(wrong, [], 'what is wrong');
    },
  };
}

// Counts the clicks of a person.
class Hand {
  clicks = 0;
  readonly visitor: Visitor;

  constructor(visitor: Visitor) {
    this.visitor = visitor;
  }

  async click(selector: string): Promise<void> {
    await this.visitor.page.locator(selector).first().click();
    this.clicks++;
  }
}

function task(name: string, clicks: number, server: Served, run: (hand: Hand) => Promise<void>): Scenario {
  return {
    name: `${name}: ${clicks === 1 ? 'one click' : `${clicks} clicks`} from the start page`,
    async run(visitor) {
      await visitor.open(server.at(''));
      await visitor.page.waitForSelector('.finding, .overview-card');
      const hand = new Hand(visitor);
      await run(hand);
      equal(hand.clicks, clicks, 'clicks');
    },
  };
}

const TASKS: Scenario[] = [
  task('the first NaN with its line of source', 1, training, async (hand) => {
    await hand.click('.finding.first');
    await hand.visitor.page.waitForSelector('.panel .line.here');
    equal(await hand.visitor.text('.panel .op-name'), facts.training.origin, 'the op');
    equal((await hand.visitor.text('.line.here code')).trim(), facts.training.text, 'the line');
  }),
  task('the first element that is NaN', 2, training, async (hand) => {
    await hand.click('.finding.first');
    await hand.click('.panel tr:has(td.number.bad) a');
    await hand.visitor.page.waitForSelector('.picture');
    const place = `[${facts.training.element.join(', ')}] = `;
    await hand.visitor.until(`document.querySelector('output.hover')?.textContent.startsWith(${JSON.stringify(place)})`);
    await hand.visitor.picture('task first element');
  }),
  task('the first wrong op of two dumps', 1, pair, async (hand) => {
    await hand.click('.finding.first');
    await hand.visitor.page.waitForSelector('.panel .op-name');
    equal(await hand.visitor.text('.panel .op-name'), facts.pair.born, 'the op');
  }),
  task('the gradient norm of a layer over the steps', 3, training, async (hand) => {
    const { visitor } = hand;
    await hand.click('nav a:text-is("Steps")');
    await hand.click('button:text("Gradient norm by module")');
    await visitor.page.waitForSelector('.curves li');
    await hand.click('input[name=module]');
    await visitor.page.keyboard.type('Net.head');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelectorAll('.curves li').length === 1`);
    check((await visitor.text('.curves li')).includes('Net.head'), await visitor.text('.curves li'));
    check(visitor.fragment().get('module') === 'Net.head', 'the address');
    await visitor.picture('task gradient norm');
  }),
  task('all LayerNorms', 1, training, async (hand) => {
    const { visitor } = hand;
    await hand.click('.search-button');
    await visitor.page.keyboard.type('LayerNorm');
    await visitor.until(`document.querySelector('.hit.chosen .hit-kind')?.textContent === 'type'`);
    await visitor.picture('task layer norms');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(
      `document.querySelector('.toolbar .count')?.textContent.replace(/\\D+/g, ' ').startsWith('${facts.training.layerNorms} ')`,
    );
    await visitor.page.waitForSelector('.row .op');
    const types = await visitor.page.locator('.row [data-column="type"]').allInnerTexts();
    check(types.length > 0 && types.every((type) => type.includes('layer_norm')), types.join(', '));
  }),
  task('numbers into a spreadsheet', 2, training, async (hand) => {
    const { visitor } = hand;
    await hand.click('nav a:text-is("Table")');
    await visitor.page.waitForSelector('.row .op');
    const [download] = await Promise.all([visitor.page.waitForEvent('download'), hand.click('button:text-is("Save as CSV")')]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    equal(lines.length, 1 + facts.training.records, 'lines of the file');
  }),
];

const kinds: Scenario = {
  name: 'a part of a tensor is saved in its own type',
  async run(visitor) {
    const { page } = visitor;
    for (const { record, dtype } of facts.training.kinds) {
      await shown(visitor, training, `#tensor?record=${record}`, '.picture');
      check((await visitor.text('.tensor-side .facts')).includes(dtype), `record ${record} is not of ${dtype}`);
      await page.click('.tensor-main summary:text("Take out")');
      const told = await visitor.text('.tensor-main .menu-panel p');
      check(told.includes(dtype === 'bfloat16' ? 'as float32 (NumPy has no bfloat16' : `as ${dtype}`), told);
      for (const [button, end] of [
        ['Save as CSV', 'csv'],
        ['Save as .npy', 'npy'],
      ]) {
        const [download] = await Promise.all([page.waitForEvent('download'), page.click(`.tensor-main button:text-is("${button}")`)]);
        await download.saveAs(join(facts.saved, `${dtype}.${end}`));
      }
    }
  },
};

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, [...TASKS, kinds, ...LOOKS.map(lookOf)]);
} finally {
  await browser.close();
  for (const server of servers) server.stop();
}
