// The page before a program that runs: live_scenarios.ts FOLDER_OF_PICTURES COMMAND DUMP PROCESS
// PROCESS is the program that writes the dump; it is ended at the end.

import { TestBrowser } from './browser.ts';
import { check, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

const [folder, command, dump, program] = process.argv.slice(2);
const server = await Served.start(command, [dump]);

const FACT = (name: string) =>
  `[...document.querySelectorAll('.live-facts > div')].find((one) => one.lastChild.textContent === '${name}').firstChild.textContent`;

const live: Scenario = {
  name: 'records come as the program runs; it is paused, goes on, refuses what it does not know, and its end is said',
  async run(visitor) {
    await visitor.open(server.at('#live'));
    await visitor.page.waitForSelector('.live-records tbody tr');
    await visitor.until(`${FACT('steps seen')} !== '–'`);
    const seen = await visitor.page.evaluate(FACT('steps seen'));
    await visitor.until(`${FACT('steps seen')} !== ${JSON.stringify(seen)}`);
    await visitor.page.click('button:text("Pause the capture")');
    await visitor.until(`/^Paused from step \\d+ on$/.test(document.querySelector('.toolbar .count')?.textContent)`);
    await visitor.until(`${FACT('capture')} === 'paused'`);
    await visitor.picture('live paused');
    await visitor.page.click('button:text("Go on")');
    await visitor.until(`${FACT('capture')} === 'on'`);
    await visitor.page.fill('input[name=watch]', 'nann > 0');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelector('.problem')?.textContent.includes('nann')`);
    await visitor.picture('live refused');
    process.kill(Number(program));
    await visitor.until(`${FACT('capture')} === 'ended'`);
    check((await visitor.page.locator('.live-records tbody tr').count()) > 0, 'the records went away with the program');
  },
};

const browser = new TestBrowser(folder);
try {
  await runScenarios(browser, [live]);
} finally {
  await browser.close();
  server.stop();
}
