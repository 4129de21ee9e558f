// The page before made answers: made_scenarios.ts FOLDER_OF_PICTURES

import { join } from 'node:path';
import { PATIENCE, TestBrowser } from './browser.ts';
import { fly } from './flight.ts';
import { HOSTILE } from './made_graph.ts';
import { BAD_OP, MadeServer, RECORDS } from './made_server.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';

const MOST_MARKS = 2500;
const MOST_LABELS = 300;

const server = new MadeServer(10_000, true);
const address = await server.start();

function serve(ops: number, grouped: boolean): void {
  Object.assign(server, { ops, grouped, changed: false, isLive: false });
}

function flight(ops: number, grouped: boolean): Scenario {
  const name = `a flight over ${ops} ops ${grouped ? 'in groups' : 'without groups'} draws no more marks than may be`;
  return {
    name,
    async run(visitor) {
      serve(ops, grouped);
      await visitor.open(address + '#graph');
      await visitor.page.waitForSelector('.graph-canvas');
      await visitor.picture(`flight ${ops} ${grouped ? 'groups' : 'flat'}`);
      const flown = await fly(visitor.page, 60);
      console.error(name, JSON.stringify(flown));
      check(flown.frames >= 30, `only ${flown.frames} frames were drawn`);
      check(flown.mostMarks <= MOST_MARKS, `${flown.mostMarks} marks in a frame`);
      check(flown.mostMarks >= 50, `no more than ${flown.mostMarks} marks in a frame: the graph was not to be seen`);
      check(flown.mostLabels > 0 && flown.mostLabels <= MOST_LABELS, `${flown.mostLabels} labels in a frame`);
    },
  };
}

const hostile: Scenario = {
  name: 'names are text, never HTML',
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address);
    check((await visitor.text('.finding-text')).includes(HOSTILE), 'the sentence on the start page is not as it was sent');
    await visitor.open(address + '#graph?op=7');
    await visitor.page.waitForSelector('.panel .op-name');
    equal(await visitor.text('.panel .op-name'), HOSTILE, 'the name in the panel');
    await visitor.open(address + '#table?op=7');
    await visitor.until(`document.querySelector('.row .op')?.textContent === ${JSON.stringify(HOSTILE)}`);
    await visitor.page.keyboard.press('/');
    await visitor.page.keyboard.type('<img');
    await visitor.until(`document.querySelector('.hit-name')?.textContent === ${JSON.stringify(HOSTILE)}`);
    check(!(await visitor.page.evaluate('window.hurt')), 'a name was run as a script');
    equal(await visitor.page.locator('img').count(), 0, 'pictures made by names');
  },
};

const early: Scenario = {
  name: 'what the dump holds is shown before its records are looked through',
  async run(visitor) {
    serve(10_000, true);
    const found = server.look();
    await visitor.open(address);
    await visitor.page.waitForSelector('.start-view .facts');
    check((await visitor.text('.looking')).includes('Looking through'), 'it is not said that more comes');
    equal(await visitor.page.locator('.finding').count(), 0, 'sentences before they are known');
    check(!(await visitor.text('main')).includes('Nothing to report'), 'nothing is reported too early');
    // picture() would wait for what is loading.
    await visitor.page.screenshot({ path: join(process.argv[2], 'early.png') });
    found();
    await visitor.page.waitForSelector('.finding.first');
    equal(await visitor.page.locator('.looking').count(), 0, 'it is still said that more comes');
  },
};

const million: Scenario = {
  name: 'a million records can be scrolled to the last, and few rows exist',
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + '#table');
    await visitor.until(`document.querySelectorAll('.row .number').length > 0`);
    await visitor.page.locator('.list').focus();
    await visitor.page.keyboard.press('End');
    await visitor.until(`[...document.querySelectorAll('.row')].some((row) => row.firstElementChild.textContent === '${RECORDS - 1}')`);
    check((await visitor.page.locator('.row').count()) < 200, 'too many rows exist');
    const focused = await visitor.page.locator('.row.focused').boundingBox();
    check(focused !== null && focused.y > 0 && focused.y + focused.height <= 721, 'the last row is outside of the window');
    await visitor.picture('million records');
    await visitor.page.keyboard.press('Home');
    await visitor.until(`document.querySelector('.row.focused')?.firstElementChild.textContent === '0'`);
  },
};

const filter: Scenario = {
  name: "the filter is the server's, with its error and its order",
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + '#table');
    await visitor.page.fill('input[name=where]', 'nonsense > 1');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelector('.problem')?.textContent.includes('unknown word "nonsense"')`);
    await visitor.page.fill('input[name=where]', 'nan > 0');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelector('.empty')?.textContent.includes('No record')`);
    await visitor.open(address + '#table?where=absmax+%3E+1');
    await visitor.page.click('button.sort:text("absmax")');
    await visitor.until(`document.querySelector('.row')?.firstElementChild.textContent === '${RECORDS - 1}'`);
    equal(visitor.fragment().get('sort'), '-absmax', 'the order in the address');
    equal(
      await visitor.page.locator('button:text("Copy as command")').getAttribute('title'),
      `tensortap ls made --where 'absmax > 1' --sort -absmax`,
      'the command',
    );
  },
};

const keyboard: Scenario = {
  name: 'the keyboard goes through the graph',
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + '#graph');
    await visitor.page.waitForSelector('.graph-canvas');
    await visitor.until('window.tensortapFrames.frames > 0');
    const op = () => visitor.fragment().get('op');
    await visitor.page.keyboard.press('n');
    await visitor.until(`location.hash.includes('op=${BAD_OP}')`);
    await visitor.page.waitForSelector('.line.here');
    equal((await visitor.text('.line.here code')).trim(), 'return x / x.sum()', 'the line of source');
    for (const [key, wanted] of [
      ['ArrowDown', BAD_OP + 3],
      ['ArrowUp', BAD_OP],
    ] as const) {
      await visitor.page.keyboard.press(key);
      await visitor.until(`location.hash.includes('op=${wanted}')`);
    }
    const near = await visitor.page.evaluate('window.tensortapViewport.view.k');
    await visitor.page.keyboard.press('f');
    const far = await visitor.page.evaluate('window.tensortapViewport.view.k');
    check(Number(far) < Number(near) / 10, `"f" did not show all: scale ${far} after ${near}`);
    await visitor.page.keyboard.press('Escape');
    equal(op(), null, 'the selection after Escape');
    await visitor.page.keyboard.press('?');
    await visitor.page.waitForSelector('dialog.help');
    await visitor.picture('help');
    await visitor.page.keyboard.press('Escape');
    await visitor.page.keyboard.press('/');
    await visitor.page.keyboard.type('op_1234');
    await visitor.page.waitForSelector('.hit');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`location.hash.includes('op=1234')`);
    await visitor.page.keyboard.press('3');
    await visitor.until(`location.hash.startsWith('#table')`);
  },
};

const gone: Scenario = {
  name: 'files that went away, and a server that ended, are said',
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + '#table');
    server.changed = true;
    await visitor.until(`document.querySelector('.banner')?.textContent.includes('changed or went away')`);
    await visitor.picture('dump gone');
    await visitor.page.route('**/api/**', (route) => route.abort());
    await visitor.until(`document.querySelector('.banner + .banner')?.textContent.includes('does not answer')`);
  },
};

const live: Scenario = {
  name: 'a running program shows its records, and takes a pause and a watchpoint',
  async run(visitor) {
    serve(10_000, true);
    server.isLive = true;
    await visitor.open(address + '#live');
    await visitor.until(`document.querySelectorAll('.live-records tbody tr').length > 50`);
    check((await visitor.text('.live-facts')).includes('4.0 %'), 'the overhead is not shown');
    await visitor.page.click('button:text("Pause the capture")');
    await visitor.until(`document.querySelector('.toolbar .count')?.textContent === 'Paused from step 13 on'`);
    await visitor.page.fill('input[name=watch]', 'nonsense');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelector('.problem')?.textContent.includes('unknown word')`);
    equal(server.posted, [{ on: false }, { config: { where: 'nonsense' } }], 'what the server was asked');
    await visitor.picture('live');
  },
};

const tabs: Scenario = {
  name: 'the token stays in the tab and goes to tabs of the same server alone; eight tabs of a running program all go on',
  async run(visitor) {
    serve(10_000, true);
    server.isLive = true;
    const origin = new URL(address).origin;
    await visitor.open(address + '#live');
    equal(visitor.page.url(), `${origin}/#live`, 'the address shows the token no more');
    const context = visitor.page.context();
    equal(await context.cookies(), [], 'a cookie would go to every server of this machine');
    for (let i = 0; i < 7; i++) {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      await page.goto(`${origin}/#live`);
      await page.waitForSelector('.live-records tbody tr');
    }
    await visitor.open(`${origin}/#table`);
    await visitor.page.waitForSelector('.row');
  },
};

const unknown: Scenario = {
  name: 'a page without the token says what the server says',
  async run(visitor) {
    serve(10_000, true);
    await visitor.page.goto(new URL(address).origin);
    await visitor.until(`document.querySelector('.banner')?.textContent.includes('no token')`);
  },
};

const missing: Scenario = {
  name: 'an op that was not captured says why',
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + '#graph?op=49&heat=absmax');
    await visitor.until(`document.querySelector('.missing-note')?.textContent.includes('its type is not supported')`);
    await visitor.picture('not captured');
  },
};

const themes: Scenario = {
  name: 'dark and light follow the system, and the switch',
  look: { width: 3840, height: 2160, scheme: 'dark' },
  async run(visitor) {
    serve(10_000, true);
    await visitor.open(address + `#graph?op=${BAD_OP}&flow=1`);
    await visitor.page.waitForSelector('.panel .op-name');
    const background = () => visitor.page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>;
    const dark = await background();
    await visitor.picture('graph 4K dark');
    await visitor.page.keyboard.press('t');
    const light = await background();
    check(dark !== light && light === 'rgb(255, 255, 255)', `colours of the page: ${dark}, then ${light}`);
    await visitor.picture('graph 4K light');
  },
};

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, [
    flight(10_000, true),
    flight(100_000, true),
    flight(100_000, false),
    hostile,
    early,
    million,
    filter,
    keyboard,
    missing,
    live,
    tabs,
    unknown,
    gone,
    themes,
  ]);
} finally {
  await browser.close();
  server.stop();
}
