// The page before `tensortap serve` of dumps of real programs: dump_scenarios.ts FOLDER_OF_PICTURES FACTS.json
// The facts name the dumps, and list what NumPy found in them.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestBrowser, type Look, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

interface Facts {
  command: string;
  // A training whose loss becomes NaN, statistics only: the op that made the first Inf, its line, how many records have NaN or Inf, and a
  // record of an op that ran in every step.
  digits: { dump: string; origin: string; source: string; text: string; nonFinite: number; curve: { op: string; record: number } };
  // A model with all its tensors; the record of one, and where its largest value is.
  demo: { dump: string; record: number; largest: number[]; value: number };
}

const LIGHT_4K: Look = { width: 3840, height: 2160, scheme: 'light' };
const DARK: Look = { width: 1280, height: 720, scheme: 'dark' };

const facts = JSON.parse(readFileSync(process.argv[3], 'utf8')) as Facts;
const start = (...dumps: string[]) => Served.start(facts.command, dumps);
const [digits, demo] = await Promise.all([start(facts.digits.dump), start(facts.demo.dump)]);

// From the start page to the line of source: one click.
async function findTheNan(visitor: Visitor, look: string): Promise<void> {
  await visitor.open(digits.at(''));
  const first = await visitor.text('.finding.first .finding-text');
  check(first.includes(facts.digits.origin) && first.includes(facts.digits.source), `the start page begins with: ${first}`);
  await visitor.picture(`digits start ${look}`);
  await visitor.page.click('.finding.first');
  await visitor.page.waitForSelector('.panel .line.here');
  equal(await visitor.text('.panel .op-name'), facts.digits.origin, 'the op beside the graph');
  equal((await visitor.text('.line.here code')).trim(), facts.digits.text, 'the line of source');
  await visitor.until(`document.querySelector('.legend')?.textContent.includes("value's way")`);
  await visitor.picture(`digits graph ${look}`);
}

const nan: Scenario = {
  name: 'the NaN of the digits is said first, and one click shows it with its line',
  run: (visitor) => findTheNan(visitor, '1280x720'),
};

const nanDark: Scenario = { name: 'the same in the dark', look: DARK, run: (visitor) => findTheNan(visitor, 'dark') };

const nan4K: Scenario = { name: 'the same on a 4K screen', look: LIGHT_4K, run: (visitor) => findTheNan(visitor, '4K') };

const table: Scenario = {
  name: 'the table has as many rows as NumPy counts, and a row opens',
  async run(visitor) {
    await visitor.open(digits.at('#table?where=' + encodeURIComponent('nan > 0 or pos_inf > 0 or neg_inf > 0')));
    await visitor.page.waitForSelector('.row');
    const count = (await visitor.text('.toolbar .count')).replace(/\u202f/g, '');
    check(count.startsWith(`${facts.digits.nonFinite} of `), `${count}, not ${facts.digits.nonFinite}`);
    await visitor.picture('digits table');
    await visitor.page.dblclick('.row .op');
    await visitor.page.waitForSelector('.tensor-side .statistics .bad');
    check((await visitor.text('.tensor-main')).includes('statistics only'), 'it is not said that there are no values');
    await visitor.picture('digits tensor without values');
  },
};

const tensor: Scenario = {
  name: 'a tensor is shown as a picture, and the largest value is where NumPy finds it',
  async run(visitor) {
    await visitor.open(demo.at(`#tensor?record=${facts.demo.record}`));
    await visitor.page.waitForSelector('.picture');
    await visitor.page.waitForSelector('.histogram');
    await visitor.picture('demo tensor');
    await visitor.page.click('button:text-is("Largest")');
    await visitor.until(`document.querySelector('.hover')?.textContent.includes('[${facts.demo.largest.join(', ')}]')`);
    const said = await visitor.text('.hover');
    const value = Number(/= *(\S+)/.exec(said)?.[1]);
    check(Math.abs(value / facts.demo.value - 1) < 1e-4, `${said}, not ${facts.demo.value}`);
    await visitor.picture('demo tensor largest');
  },
};

const heat: Scenario = {
  name: 'the graph is coloured, its groups open, and the address brings all of it back',
  async run(visitor) {
    await visitor.open(demo.at('#graph?heat=absmax'));
    await visitor.graph();
    await visitor.page.waitForSelector('.legend .ramp');
    await visitor.picture('demo graph');
    await visitor.page.keyboard.press('ArrowDown');
    await visitor.page.keyboard.press('ArrowDown');
    await visitor.until(`/[?&](op|group)=/.test(location.hash)`);
    await visitor.page.keyboard.press('+');
    // The address follows when the graph has stopped moving.
    await visitor.until(`(() => {
      const { x, k } = window.tensortapViewport.view;
      return location.hash.includes('x=' + x.toFixed(1)) && location.hash.includes('k=' + k.toPrecision(4));
    })()`);
    const [address, view] = [visitor.page.url(), await visitor.page.evaluate('JSON.stringify(window.tensortapViewport.view)')];
    await visitor.open(address);
    await visitor.graph();
    const again = JSON.parse((await visitor.page.evaluate('JSON.stringify(window.tensortapViewport.view)')) as string) as object;
    for (const [name, value] of Object.entries(JSON.parse(view as string) as Record<string, number>)) {
      const now = (again as Record<string, number>)[name];
      check(Math.abs(now - value) <= 0.06 + Math.abs(value) * 1e-3, `${name} of the view: ${now}, not ${value}`);
    }
    equal(await visitor.page.locator('select').first().inputValue(), 'absmax', 'the colour');
    await visitor.picture('demo graph again');
  },
};

const steps: Scenario = {
  name: 'curves over the steps, with trends',
  async run(visitor) {
    const { op, record } = facts.digits.curve;
    await visitor.open(digits.at(`#tensor?record=${record}`));
    await visitor.page.click('a:text("Over the steps")');
    await visitor.page.waitForSelector('.curves li');
    equal(await visitor.text('.steps-main .op-name'), op, 'the op of the curves');
    await visitor.page.waitForSelector('.trends li, .trends p');
    await visitor.picture('digits steps');
  },
};

const search: Scenario = {
  name: 'ops, modules and lines of source are found',
  async run(visitor) {
    await visitor.open(digits.at('#graph'));
    await visitor.graph();
    await visitor.page.keyboard.press('/');
    await visitor.page.keyboard.type(facts.digits.source.replace(/^.*\//, ''));
    await visitor.page.waitForSelector('.hit');
    await visitor.picture('digits search');
    await visitor.page.keyboard.press('Escape');
    await visitor.page.keyboard.press('/');
    await visitor.page.keyboard.type(facts.digits.origin);
    await visitor.until(`document.querySelector('.hit.chosen .hit-name')?.textContent.includes(${JSON.stringify(facts.digits.origin)})`);
    await visitor.page.keyboard.press('Enter');
    await visitor.page.waitForSelector('.panel .op-name');
    equal(await visitor.text('.panel .op-name'), facts.digits.origin, 'the op that was searched for');
  },
};

const fastSearch: Scenario = {
  name: 'a search waits for nobody: neither its end, nor Enter before the answer',
  async run(visitor) {
    await visitor.open(digits.at('#graph'));
    await visitor.graph();
    await visitor.page.keyboard.press('/');
    await visitor.page.waitForSelector('dialog.search');
    await visitor.page.evaluate(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      document.querySelector('dialog')!.requestClose();
      await Promise.resolve();
      dispatchEvent(new KeyboardEvent('keydown', { key: '/' }));
      await frame();
      await frame();
    });
    equal(await visitor.page.locator('dialog.search').count(), 1, 'the search that was opened at once');
    await visitor.page.keyboard.type(facts.digits.origin);
    await visitor.page.keyboard.press('Enter');
    await visitor.page.waitForSelector('.panel .op-name');
    equal(await visitor.text('.panel .op-name'), facts.digits.origin, 'the op that was searched for');
  },
};

const keys: Scenario = {
  name: 'n goes to the op that made the first NaN or Inf',
  async run(visitor) {
    await visitor.open(digits.at('#graph'));
    await visitor.graph();
    await visitor.until(`document.querySelector('.legend')`);
    await visitor.until(`!document.querySelector('.busy')`);
    await visitor.page.keyboard.press('n');
    await visitor.page.waitForSelector('.panel td.bad');
    await visitor.picture('digits next');
  },
};

const stranger: Scenario = {
  name: 'without the token nothing is shown',
  async run(visitor) {
    const answer = await visitor.page.goto(new URL(digits.address).origin + '/api/dump');
    equal(answer?.status(), 401, 'the status without a token');
  },
};

const vanished: Scenario = {
  name: 'a dump that goes away while it is open is said to be gone',
  async run(visitor) {
    const folder = mkdtempSync(join(tmpdir(), 'tensortap-gone-'));
    cpSync(facts.digits.dump, join(folder, 'dump'), { recursive: true });
    const server = await start(join(folder, 'dump'));
    await visitor.open(server.at('#table'));
    await visitor.page.waitForSelector('.row');
    rmSync(folder, { recursive: true });
    await visitor.until(`document.querySelector('.banner')?.textContent.includes('changed or went away')`);
    server.stop();
  },
};

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, [nan, nanDark, nan4K, table, tensor, heat, steps, search, fastSearch, keys, stranger, vanished]);
} finally {
  await browser.close();
  for (const server of [digits, demo]) server.stop();
}
