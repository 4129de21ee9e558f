// The page before a job of several ranks: rank_scenarios.ts FOLDER_OF_PICTURES COMMAND JOB FACTS.json
// The facts are what `tensortap ranks JOB --json` says.

import { readFileSync } from 'node:fs';
import { TestBrowser, type Look, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

interface Facts {
  nonfinite: { first: { rank: number; step: number; op: string } };
  apart: { ranks: { rank: number }[] };
  map: { ranks: { distances: number[] }[] };
}

const [folder, command, job, path] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(path, 'utf8')) as Facts;
const { first } = facts.nonfinite;
const served = await Served.start(command, [job]);

async function said(visitor: Visitor, name: string): Promise<void> {
  await visitor.open(served.at(''));
  await visitor.page.waitForSelector('.rank-cells canvas');
  const finding = await visitor.text('.finding.bad');
  check(finding.includes(`rank ${first.rank}, step ${first.step}, ${first.op}`), `the page begins with: ${finding}`);
  equal(
    await visitor.text('.rank-list .apart'),
    await visitor.text(`.rank-list tr:nth-child(${facts.apart.ranks[0].rank + 1}) .apart`),
    'the rank that drifts',
  );
  await visitor.picture(`ranks ${name}`);
}

const starts: Scenario = { name: 'the rank with the first NaN is said first', run: (visitor) => said(visitor, '1280x720') };

const dark: Look = { width: 3840, height: 2160, scheme: 'dark' };
const large: Scenario = { name: 'the same on a 4K screen in the dark', look: dark, run: (visitor) => said(visitor, '4K dark') };

const leads: Scenario = {
  name: 'a click leads to the op of that rank, and back',
  async run(visitor) {
    await visitor.open(served.at('#ranks'));
    await visitor.page.click('.finding.bad a');
    await visitor.page.waitForSelector('.panel .op-name');
    equal(await visitor.text('.panel .op-name'), first.op, 'the op beside the graph');
    check(visitor.page.url().includes(`/dump/${first.rank}/#graph`), visitor.page.url());
    await visitor.graph();
    await visitor.picture('ranks one rank');
    await visitor.page.keyboard.press('r');
    await visitor.page.waitForSelector('.rank-cells canvas');
    await visitor.page.click('.rank-list a:text("rank 0")');
    await visitor.page.waitForSelector('.facts');
    check((await visitor.text('.facts')).includes('rank_0'), 'not the dump of rank 0');
  },
};

const keys: Scenario = {
  name: 'a cell is chosen by keys and stands in the address',
  async run(visitor) {
    const rank = facts.apart.ranks[0].rank;
    await visitor.open(served.at(`#ranks?rank=${rank}&step=0`));
    await visitor.page.waitForSelector('.rank-cells canvas');
    await visitor.page.locator('.rank-cells canvas').focus();
    await visitor.page.keyboard.press('ArrowRight');
    await visitor.until(`location.hash.includes('step=1')`);
    const told = await visitor.text('.rank-told');
    const distance = Number(/: (\S+) from the median/.exec(told)?.[1]);
    const wanted = facts.map.ranks[rank].distances[1];
    check(told.startsWith(`rank ${rank}, step 1`) && Math.abs(distance / wanted - 1) < 0.01, `${told}, not ${wanted}`);
    await visitor.picture('ranks cell');
    await visitor.page.keyboard.press('Enter');
    await visitor.page.waitForSelector('.graph-canvas');
    check(visitor.page.url().includes(`/dump/${rank}/#graph`) && visitor.fragment().get('step') === '1', visitor.page.url());
  },
};

const browser = new TestBrowser(folder);
try {
  await runScenarios(browser, [starts, large, leads, keys]);
} finally {
  await browser.close();
  served.stop();
}
