// Tensors of many shapes and values: tensor_scenarios.ts FOLDER_OF_PICTURES FACTS.json

import { readFileSync } from 'node:fs';
import { TestBrowser, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

interface Facts {
  command: string;
  dump: string;
  // The same with other values of one tensor.
  other: string;
  // The record that each op wrote.
  rows: Record<'small' | 'large' | 'signs' | 'bad' | 'empty', number>;
}

const facts = JSON.parse(readFileSync(process.argv[3], 'utf8')) as Facts;
const { rows } = facts;
const [alone, pair] = await Promise.all([
  Served.start(facts.command, [facts.dump]),
  Served.start(facts.command, [facts.dump, facts.other]),
]);

// Parts of tensors that the page asks for, such as "/api/record/3/slice 0:8 0:8".
function watchSlices(visitor: Visitor): string[] {
  const asked: string[] = [];
  visitor.page.on('request', (request) => {
    const url = new URL(request.url());
    if (!url.pathname.endsWith('/slice')) return;
    asked.push(`${url.pathname} ${url.searchParams.get('rows')} ${url.searchParams.get('cols')}`);
  });
  return asked;
}

async function goTo(visitor: Visitor, fragment: string, title: string): Promise<void> {
  await visitor.page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
  await visitor.until(`document.querySelector('.op-name')?.textContent.includes(${JSON.stringify(title)})`);
  await visitor.page.waitForSelector('.picture');
}

const whole: Scenario = {
  name: 'a tensor reached from a smaller one is shown as a whole',
  async run(visitor) {
    const asked = watchSlices(visitor);
    await visitor.open(alone.at(`#tensor?record=${rows.small}`));
    await visitor.page.waitForSelector('.picture');
    for (const name of ['large', 'small', 'large'] as const) await goTo(visitor, `tensor?record=${rows[name]}`, `${name}:out0`);
    const small = `/api/record/${rows.small}/slice 0:4 0:4`;
    const large = `/api/record/${rows.large}/slice 0:8 0:8`;
    equal(asked, [small, large, small, large], 'what the page asked for');
  },
};

const wholePair: Scenario = {
  name: 'a pair reached from a smaller one is shown as a whole',
  async run(visitor) {
    await visitor.open(pair.at('#pairs?sort=order'));
    await visitor.page.waitForSelector('.row');
    const names = await visitor.page.locator('.row').allTextContents();
    const [small, large] = ['small:out0', 'large:out0'].map((name) => names.findIndex((row) => row.includes(name)));
    const numbers = [];
    for (const row of [small, large]) {
      await visitor.page.locator('.row').nth(row).dblclick();
      await visitor.page.waitForSelector('.picture');
      numbers.push(visitor.fragment().get('pair'));
      await visitor.open(pair.at('#pairs?sort=order'));
      await visitor.page.waitForSelector('.row');
    }
    const asked = watchSlices(visitor);
    await goTo(visitor, `pair?pair=${numbers[0]}`, 'small');
    await goTo(visitor, `pair?pair=${numbers[1]}`, 'large');
    equal(asked, [`/api/pair/${numbers[0]}/slice 0:4 0:4`, `/api/pair/${numbers[1]}/slice 0:8 0:8`], 'what the page asked for');
  },
};

const zoom: Scenario = {
  name: 'the part that is shown is in the address, and the page says that it is a part',
  async run(visitor) {
    await visitor.open(alone.at(`#tensor?record=${rows.large}`));
    await visitor.page.waitForSelector('.picture');
    equal(await visitor.page.locator('.part').count(), 0, 'parts of the whole');
    await visitor.page.click('button[aria-label="Zoom in"]');
    await visitor.until(`document.querySelector('.part')?.textContent === 'rows 2–5 of 8, columns 2–5 of 8'`);
    await visitor.until(`location.hash.includes('zoom=')`);
    const asked = watchSlices(visitor);
    await visitor.open(visitor.page.url());
    await visitor.until(`document.querySelector('.part')?.textContent === 'rows 2–5 of 8, columns 2–5 of 8'`);
    equal(asked, [`/api/record/${rows.large}/slice 2:6 2:6`], 'what the address asks for');
    await visitor.page.click('button:text-is("Whole")');
    await visitor.until(`!location.hash.includes('zoom=') && !document.querySelector('.part')`);
    await visitor.page.click('button:text-is("Largest")');
    await visitor.until(`location.hash.includes('zoom=') || /\\[\\d+, \\d+\\]/.test(document.querySelector('.hover').textContent)`);
    check(!(await visitor.text('.hover')).includes('error'), 'the jump failed');
  },
};

// How many pixels of the picture have a colour.
function pixels(visitor: Visitor, wanted: [number, number, number]): Promise<number> {
  return visitor.page.evaluate(`(() => {
    const canvas = document.querySelector('.picture');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) if (${JSON.stringify(wanted)}.every((channel, at) => data[i + at] === channel)) count++;
    return count;
  })()`) as Promise<number>;
}

// The same, once some are painted, which happens after the texts around the picture.
async function paintedPixels(visitor: Visitor, wanted: [number, number, number]): Promise<number> {
  for (let tries = 0; tries < 100 && (await pixels(visitor, wanted)) === 0; tries++) await visitor.page.waitForTimeout(100);
  return pixels(visitor, wanted);
}

const NAN: [number, number, number] = [217, 48, 63];
const POSITIVE: [number, number, number] = [190, 45, 190];
const NEGATIVE: [number, number, number] = [0, 140, 130];

function nonFinite(scheme: 'light' | 'dark'): Scenario {
  return {
    name: `NaN, +Inf and -Inf look different, and sliders show where they lie (${scheme})`,
    look: { width: 1280, height: 720, scheme },
    async run(visitor) {
      await visitor.open(alone.at(`#tensor?record=${rows.bad}&at=1,4,:,:`));
      await visitor.page.waitForSelector('.picture');
      await visitor.until(`document.querySelectorAll('.marks').length === 2`);
      const marks = await visitor.page.locator('.marks').evaluateAll((all) => all.map((one) => one.getAttribute('title')));
      equal(marks, ['NaN or Inf at 1, 2', 'NaN or Inf at 4, 5'], 'what the sliders say');
      equal(await visitor.page.locator('.bad-key').allInnerTexts(), ['NaN', '+Inf'], 'the keys of this part');
      await visitor.picture(`tensor bad ${scheme}`);
      const [nan, positive] = [await paintedPixels(visitor, NAN), await paintedPixels(visitor, POSITIVE)];
      check(nan > 100 && positive > 3 * nan, `${nan} pixels of one NaN, ${positive} of five +Inf`);
      equal(await pixels(visitor, NEGATIVE), 0, 'pixels of -Inf, of which there is none');
      await visitor.page.evaluate(`location.hash = 'tensor?record=${rows.bad}&at=2,5,:,:'`);
      await visitor.until(`document.querySelector('.bad-key')?.textContent === '−Inf'`);
      check((await paintedPixels(visitor, NEGATIVE)) > 100, 'no pixels of -Inf');
    },
  };
}

const signs: Scenario = {
  name: 'values of both signs have colours around 0, unless chosen otherwise',
  async run(visitor) {
    await visitor.open(alone.at(`#tensor?record=${rows.signs}`));
    await visitor.page.waitForSelector('.ramp-down.zero');
    const [largest, smallest] = await visitor.page.locator('.picture-scale > span').allInnerTexts();
    equal(smallest.replace('≤ ', ''), '-' + largest.replace('≥ ', ''), 'the ends of the scale');
    await visitor.picture('tensor signs');
    await visitor.page.selectOption('.toolbar select', 'range');
    await visitor.page.waitForSelector('.ramp-down:not(.zero)');
    await visitor.open(alone.at(`#tensor?record=${rows.large}`));
    await visitor.page.waitForSelector('.ramp-down');
    equal(await visitor.page.locator('.ramp-down.zero').count(), 0, 'colours around 0 of values that are not negative');
  },
};

const empty: Scenario = {
  name: 'a tensor without values says so',
  async run(visitor) {
    await visitor.open(alone.at(`#tensor?record=${rows.empty}`));
    await visitor.until(`document.querySelector('.tensor-main')?.textContent.includes('no values: its shape is [0, 3, 5]')`);
    equal(await visitor.page.locator('.problem, .bad').count(), 0, 'errors, and statistics of nothing');
    await visitor.picture('tensor empty');
  },
};

const histogram: Scenario = {
  name: 'the spread of values can be logarithmic in values and in counts',
  async run(visitor) {
    await visitor.open(alone.at(`#tensor?record=${rows.signs}`));
    await visitor.page.waitForSelector('.bars');
    const heights = () => visitor.page.locator('.bars rect').evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
    const sum = (values: number[]) => values.reduce((all, one) => all + one, 0);
    const before = await heights();
    await visitor.page.check('.histogram input[type=checkbox]');
    check(sum(await heights()) > 1.3 * sum(before), 'logarithmic counts lift small bars');
    await visitor.page.selectOption('.histogram select', 'magnitude');
    await visitor.until(`document.querySelector('.histogram-kind').textContent.includes('exponent')`);
    const edges = await visitor.page.locator('.histogram .legend-ends span').allInnerTexts();
    check(Number(edges[2]) >= 2 && Number(edges[0]) < 0.01, `bins from ${edges[0]} to ${edges[2]}`);
    await visitor.picture('tensor histogram');
  },
};

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, [whole, wholePair, zoom, nonFinite('light'), nonFinite('dark'), signs, empty, histogram]);
} finally {
  await browser.close();
  alone.stop();
  pair.stop();
}
