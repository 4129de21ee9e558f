// Reports that are opened from disk: report_scenarios.ts FOLDER_OF_PICTURES CASES.json

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { TestBrowser, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';

interface Case {
  name: string;
  file: string;
  // How many the first dump has.
  records: number;
  // The name of an op with records, as it was recorded.
  op: string;
  // One of its records, with statistics.
  record: number;
  // Names of the functions below.
  views: (keyof typeof VIEWS)[];
  // Whether the report contains the pictures of tensors.
  values: boolean;
  // What the note at the top says.
  note: string;
  // Whether targets of some links are left out.
  cut: boolean;
}

const cases = JSON.parse(readFileSync(process.argv[3], 'utf8')) as Case[];

// Nothing but the file itself is asked for.
function watchNetwork(visitor: Visitor, address: string): void {
  visitor.page.on('request', (request) => {
    const asked = request.url();
    if (!asked.startsWith(address) && asked !== 'about:blank') visitor.complaints.push(`asked for ${asked}`);
  });
}

async function goTo(visitor: Visitor, fragment: string): Promise<void> {
  await visitor.page.evaluate((hash) => (location.hash = hash), fragment);
  await visitor.until(`location.hash === ${JSON.stringify(fragment)}`);
  await visitor.until("document.querySelector('.view > *') && !document.querySelector('.busy, .loading')");
  await visitor.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function problems(visitor: Visitor): Promise<string[]> {
  return visitor.page.locator('.view .problem').allInnerTexts();
}

async function checkSound(visitor: Visitor, one: Case, fragment: string): Promise<void> {
  await goTo(visitor, fragment);
  if (!one.cut) equal(await problems(visitor), [], `what is wrong at ${fragment}`);
}

async function start(visitor: Visitor, one: Case): Promise<void> {
  check((await visitor.text('.report-note')).includes(one.note), `the note is ${await visitor.text('.report-note')}`);
  await visitor.picture(`report ${one.name} start`);
  const links = await visitor.page.locator('.view a[href^="#"]').evaluateAll((all) => all.map((link) => link.getAttribute('href')!));
  check(links.length >= 2, 'the start page leads nowhere');
  for (const link of new Set(links)) await checkSound(visitor, one, link);
}

async function table(visitor: Visitor, one: Case): Promise<void> {
  await checkSound(visitor, one, '#table');
  await visitor.page.waitForSelector('.row .op');
  const count = (await visitor.text('.toolbar .count')).replace(/[^\d of]/g, '');
  check(
    count
      .split(' ')
      .filter((word) => /\d/.test(word))
      .some((word) => Number(word) === one.records),
    `the table counts ${count}`,
  );
  const names = await visitor.page.locator('.row .op').allTextContents();
  check(names.includes(one.op), `${one.op} is not in the table: ${names.join(', ')}`);
  await visitor.picture(`report ${one.name} table`);
}

async function tensor(visitor: Visitor, one: Case): Promise<void> {
  await checkSound(visitor, one, `#tensor?record=${one.record}`);
  await visitor.page.waitForSelector('.statistics');
  if (one.values) await visitor.page.waitForSelector('.slice-view canvas');
  await visitor.picture(`report ${one.name} tensor`);
}

async function graph(visitor: Visitor, one: Case): Promise<void> {
  await checkSound(visitor, one, '#graph');
  await visitor.page.waitForSelector('.graph-canvas');
  await visitor.picture(`report ${one.name} graph`);
  await visitor.page.keyboard.press('/');
  await visitor.page.locator('dialog.search input').fill(one.op.slice(0, 40));
  await visitor.until(`[...document.querySelectorAll('.hit-name')].some((hit) => hit.textContent === ${JSON.stringify(one.op)})`);
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.panel .op-name');
  if (!one.cut) equal(await problems(visitor), [], 'what is wrong beside the graph');
  await visitor.picture(`report ${one.name} op`);
}

async function steps(visitor: Visitor, one: Case): Promise<void> {
  await checkSound(visitor, one, '#steps?op=0');
  for (const key of ['l2', 'nan', 'zero']) await checkSound(visitor, one, `#steps?op=0&key=${key}`);
  await visitor.picture(`report ${one.name} steps`);
}

async function pairs(visitor: Visitor, one: Case): Promise<void> {
  await checkSound(visitor, one, '#pairs');
  await visitor.page.waitForSelector('.row .op');
  await visitor.picture(`report ${one.name} pairs`);
  for (const only of ['all', 'differing', 'first']) {
    for (const sort of ['error', 'own', 'order']) await checkSound(visitor, one, `#pairs?only=${only}&sort=${sort}`);
  }
  await goTo(visitor, '#pairs');
  await visitor.page.locator('.row').first().dblclick();
  await visitor.until("location.hash.startsWith('#pair?')");
  const pair = new URLSearchParams(new URL(visitor.page.url()).hash.split('?')[1]).get('pair');
  for (const view of ['difference', 'a', 'b', 'ulp']) await checkSound(visitor, one, `#pair?pair=${pair}&view=${view}`);
  await goTo(visitor, `#pair?pair=${pair}`);
  await visitor.picture(`report ${one.name} pair`);
}

const VIEWS = { start, table, tensor, graph, steps, pairs };

function report(one: Case): Scenario {
  return {
    name: one.name,
    async run(visitor) {
      const address = pathToFileURL(one.file).href;
      watchNetwork(visitor, address);
      await visitor.open(address);
      for (const view of one.views) await VIEWS[view](visitor, one);
      check(!(await visitor.page.evaluate('window.hurt')), 'a name was run as a script');
      equal(await visitor.page.locator('img').count(), 0, 'pictures made by names');
    },
  };
}

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, cases.map(report));
} finally {
  await browser.close();
}
