// The page before a program that runs: live_scenarios.ts FOLDER_OF_PICTURES COMMAND DUMP PROCESS
// PROCESS is the program that writes the dump; it is ended at the end.

import { TestBrowser } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
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
    // A whole step with its tensors, and then no more tensors: the capture goes on as it was.
    await visitor.page.click('button:text("One step with its tensors")');
    const told = /^Tensors and statistics of step (\d+); from step (\d+) on the capture goes on as before$/;
    await visitor.until(`${told}.test(document.querySelector('.toolbar .count')?.textContent)`);
    const [, full, next] = told.exec(await visitor.text('.toolbar .count'))!.map(Number);
    check(next === full + 1, `the plan returns at step ${next}, not at ${full + 1}`);
    await visitor.until(
      `Number(${FACT('steps captured')}.replace(/\\D/g, '')) > 0 && document.querySelector('.live-records tbody td')?.textContent > ${next}`,
    );
    const kept = async (step: number) =>
      (await visitor.page.evaluate(async (asked) => {
        const token = sessionStorage.getItem(Object.keys(sessionStorage)[0]);
        const headers = { Authorization: `Bearer ${token}` };
        const list = await (await fetch(`/api/records?step=${asked}`, { headers })).json();
        const records = await Promise.all(
          list.items.map(async (row: { record: number }) => (await fetch(`/api/record/${row.record}`, { headers })).json()),
        );
        return records.map((record: { has_data: boolean }) => record.has_data);
      }, step)) as boolean[];
    for (const [step, wanted] of [
      [full - 1, false],
      [full, true],
      [next, false],
    ] as const) {
      const found = await kept(step);
      if (step === full - 1 && found.length === 0) continue;
      check(found.length > 0 && found.every((one) => one === wanted), `step ${step} has tensors: ${found.join(', ')}`);
    }
    await visitor.page.waitForSelector('.sparkline polyline');
    check((await visitor.text('.sparkline figcaption')).includes('steps in a second'), 'what the curve says');
    await visitor.picture('live one step');
    await visitor.page.fill('input[name=watch]', 'nann > 0');
    await visitor.page.keyboard.press('Enter');
    await visitor.until(`document.querySelector('.problem')?.textContent.includes('nann')`);
    await visitor.picture('live refused');
    process.kill(Number(program));
    await visitor.until(`${FACT('capture')} === 'ended'`);
    await visitor.page.waitForSelector('.live-ended');
    equal(await visitor.page.locator('.live-view button').count(), 0, 'buttons that can do nothing any more');
    await visitor.picture('live ended');
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
