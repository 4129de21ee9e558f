// README's pictures: pictures.ts COMMAND DIGITS DEMO FOLDER

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { TestBrowser, type Look } from './browser.ts';
import { Served } from './served.ts';

const MOST_BYTES = 300_000;
const LOOK: Look = { width: 1280, height: 720, scheme: 'light' };

const [command, digits, demo, folder] = process.argv.slice(2);

const browser = new TestBrowser(folder);
const servers = [await Served.start(command, [digits]), await Served.start(command, [demo])];
try {
  const { visitor } = await browser.visitor(LOOK);
  await visitor.open(servers[0].at(''));
  await visitor.page.click('.finding.first');
  await visitor.page.waitForSelector('.panel .line.here');
  await visitor.until(`document.querySelector('.legend')?.textContent.includes("value's way")`);
  await visitor.picture('web_nan');
  await visitor.open(servers[1].at('#graph?heat=absmax'));
  await visitor.page.waitForSelector('.legend .ramp');
  await visitor.page.keyboard.press('/');
  await visitor.page.keyboard.type('ApplyActivation_1/AddV2');
  await visitor.page.waitForSelector('.hit.chosen');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.panel .op-name');
  await visitor.picture('web_graph');
} finally {
  await browser.close();
  for (const server of servers) server.stop();
}
for (const name of ['web_nan', 'web_graph']) {
  const path = join(folder, `${name}.png`);
  const bytes = statSync(path).size;
  console.log(`${path}: ${bytes} bytes`);
  if (bytes > MOST_BYTES) throw new Error(`${path} has ${bytes} bytes; the limit is ${MOST_BYTES}`);
}
