// The pictures of README and docs/gallery.md: pictures.ts COMMAND DIGITS DEMO JUDGED REFERENCE JOB FOLDER

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { TestBrowser, type Look } from './browser.ts';
import { Served } from './served.ts';

const MOST_BYTES = 150_000;
const LOOK: Look = { width: 1280, height: 720, scheme: 'light' };

const [command, digits, demo, judged, reference, job, folder] = process.argv.slice(2);

const browser = new TestBrowser(folder);
const servers = await Promise.all([[digits], [demo], [judged, reference], [job]].map((dumps) => Served.start(command, dumps)));
const [ofDigits, ofDemo, ofPair, ofJob] = servers;
try {
  const { visitor } = await browser.visitor(LOOK);
  await visitor.open(ofDigits.at(''));
  await visitor.page.click('.finding.first');
  await visitor.page.waitForSelector('.panel .line.here');
  await visitor.until(`document.querySelector('.legend')?.textContent.includes("value's way")`);
  await visitor.picture('web_nan');
  await visitor.open(ofDemo.at('#graph?heat=absmax'));
  await visitor.page.waitForSelector('.legend .ramp');
  await visitor.page.keyboard.press('/');
  await visitor.page.keyboard.type('ApplyActivation_1/AddV2');
  await visitor.page.waitForSelector('.hit.chosen');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.panel .op-name');
  await visitor.picture('web_graph');
  await visitor.open(ofPair.at('#pairs?sort=order&only=differing'));
  await visitor.page.waitForSelector('.row');
  await visitor.page.locator('.list').focus();
  await visitor.page.keyboard.press('Home');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.picture');
  await visitor.picture('web_values');
  await visitor.page.click('a:text("The way of the error")');
  await visitor.graph();
  await visitor.until(`location.hash.includes('way=error')`);
  await visitor.picture('web_pair');
  await visitor.open(ofJob.at(''));
  await visitor.page.waitForSelector('.rank-cells canvas');
  await visitor.picture('web_ranks');
  await visitor.open(ofDigits.at('#graph'));
  await visitor.page.keyboard.press('/');
  await visitor.page.keyboard.type('Digits.norm/rsqrt');
  await visitor.page.waitForSelector('.hit.chosen');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.panel .op-name');
  await visitor.page.click('a:text("Over the steps")');
  await visitor.page.waitForSelector('.curves li');
  await visitor.picture('web_steps');
} finally {
  await browser.close();
  for (const server of servers) server.stop();
}
for (const name of ['web_nan', 'web_graph', 'web_pair', 'web_values', 'web_ranks', 'web_steps']) {
  const path = join(folder, `${name}.png`);
  const bytes = statSync(path).size;
  console.log(`${path}: ${bytes} bytes`);
  if (bytes > MOST_BYTES) throw new Error(`${path} has ${bytes} bytes; the limit is ${MOST_BYTES}`);
}
