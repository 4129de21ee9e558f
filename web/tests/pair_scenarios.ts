// The page before two dumps: pair_scenarios.ts FOLDER_OF_PICTURES COMMAND JUDGED REFERENCE BORN STRANGER
// BORN is the op in which the difference of the two is born; STRANGER is a dump that shares nothing with REFERENCE.

import { TestBrowser } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

const [folder, command, judged, reference, born, stranger] = process.argv.slice(2);
const [pair, strangers] = await Promise.all([Served.start(command, [judged, reference]), Served.start(command, [stranger, reference])]);

const compared: Scenario = {
  name: 'two dumps: the op in which the error is born is said, shown and drawn',
  async run(visitor) {
    await visitor.open(pair.at(''));
    await visitor.until(`[...document.querySelectorAll('.finding-text')].some((one) => one.textContent.includes(${JSON.stringify(born)}))`);
    await visitor.picture('pair start');
    await visitor.open(pair.at('#graph?heat=error'));
    await visitor.graph();
    await visitor.until(`!document.querySelector('.busy')`);
    await visitor.page.keyboard.press('d');
    await visitor.page.waitForSelector('.panel .op-name');
    equal(await visitor.text('.panel .op-name'), born, 'the op that d goes to');
    await visitor.picture('pair graph');
    await visitor.page.click('label.check');
    await visitor.until(`document.querySelectorAll('.graph-canvas').length === 2`);
    await visitor.picture('pair side by side');
  },
};

const counted: Scenario = {
  name: 'two dumps: a weight that differs is said, and the counts of the verdicts are those of all pairs',
  async run(visitor) {
    await visitor.open(pair.at(''));
    await visitor.until(`[...document.querySelectorAll('.finding-text')].some((one) => one.textContent.includes('weights and inputs: '))`);
    const said = visitor.page.locator('.finding', { hasText: 'weights and inputs: ' });
    check((await said.innerText()).includes('1 different; the first that differs is'), `the start page says: ${await said.innerText()}`);
    const numbers = (await visitor.text('[aria-label="Comparison"]'))
      .replace(/\u202f/g, '')
      .match(/\d+/g)!
      .map(Number);
    equal(
      numbers.slice(1).reduce((sum, count) => sum + count, 0),
      numbers[0],
      'the sum of the verdicts',
    );
    await said.click();
    await visitor.page.waitForSelector('.tensor-side .verdict.warn');
    await visitor.open(pair.at('#pairs'));
    await visitor.page.waitForSelector('.row');
    const [all, ...verdicts] = (await visitor.text('.toolbar .count'))
      .replace(/\u202f/g, '')
      .match(/\d+/g)!
      .map(Number);
    equal(
      verdicts.reduce((sum, count) => sum + count, 0),
      all,
      'the sum of the verdicts above the pairs',
    );
  },
};

const panel: Scenario = {
  name: "two dumps: the graph's panel has verdict and error, and leads to the pair",
  async run(visitor) {
    for (const side of ['a', 'b']) {
      await visitor.open(pair.at(`#graph?heat=error&dump=${side}`));
      await visitor.graph();
      await visitor.until(`!document.querySelector('.busy')`);
      await visitor.page.keyboard.press('d');
      await visitor.page.waitForSelector('.pairs-of-op .verdict.warn');
      const rows = await visitor.page.locator('.pairs-of-op tbody tr').allInnerTexts();
      check(
        rows.some((row) => /out0\s+different\s+[\d.e-]+\s+born/.test(row)),
        `the pairs of the op in ${side}: ${rows.join('; ')}`,
      );
    }
    await visitor.picture('pair panel');
    await visitor.page.click('.pairs-of-op tr:has(.verdict.warn):has-text("out0") a');
    await visitor.until(`location.hash.startsWith('#pair?')`);
    await visitor.until(`document.querySelector('.op-name')?.textContent.startsWith(${JSON.stringify(born)})`);
  },
};

const pairs: Scenario = {
  name: 'pairs of tensors, and the values of one as differences',
  async run(visitor) {
    await visitor.open(pair.at('#pairs?sort=order&only=differing'));
    await visitor.page.waitForSelector('.row');
    // Before it only the weight that has the fault.
    const place = (await visitor.page.locator('.row').allTextContents()).findIndex((row) => row.includes(born));
    check(place === 0 || place === 1, `the first pair that differs is not of ${born}`);
    await visitor.picture('pairs');
    await visitor.page.locator('.list').focus();
    await visitor.page.keyboard.press('Home');
    if (place === 1) await visitor.page.keyboard.press('ArrowDown');
    await visitor.page.keyboard.press('Enter');
    await visitor.page.waitForSelector('.picture');
    await visitor.picture('pair difference');
    await visitor.page.click('a:text("The way of the error")');
    await visitor.graph();
    await visitor.until(`location.hash.includes('way=error')`);
    await visitor.picture('pair way');
  },
};

const NOTHING = 'no value could be paired';

const nothing: Scenario = {
  name: 'two dumps that share nothing: one sentence says it, and each can be seen',
  async run(visitor) {
    await visitor.open(strangers.at(''));
    await visitor.until(`document.body.textContent.includes(${JSON.stringify(NOTHING)})`);
    equal((await visitor.text('body')).split(NOTHING).length - 1, 1, 'how often it is said');
    check((await visitor.text('.finding.first')).includes(NOTHING), 'it is not said first');
    await visitor.picture('strangers start');
    await visitor.page.click('.finding.first');
    await visitor.until(`document.querySelector('.empty .problem')?.textContent.includes(${JSON.stringify(NOTHING)})`);
    await visitor.picture('strangers pairs');
    await visitor.open(strangers.at('#graph?heat=error'));
    await visitor.graph();
    await visitor.until(`document.querySelector('.graph-view .problem')?.textContent.includes(${JSON.stringify(NOTHING)})`);
    await visitor.picture('strangers graph');
    await visitor.page.click('label.check');
    await visitor.until(`document.querySelectorAll('.graph-canvas').length === 2`);
    await visitor.until(`!document.querySelector('.busy')`);
    await visitor.picture('strangers side by side');
  },
};

const browser = new TestBrowser(folder);
try {
  await runScenarios(browser, [compared, counted, panel, pairs, nothing]);
} finally {
  await browser.close();
  pair.stop();
  strangers.stop();
}
