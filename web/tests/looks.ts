// A picture of every view at each size and scheme, to be looked at, of the dumps that `./dev web --pictures` makes:
// looks.ts FOLDER COMMAND DUMP JUDGED REFERENCE JOB LIVE [WIDTHxHEIGHT,...]
// LIVE is the dump of a program that runs.

import { TestBrowser, type Look, type Visitor } from './browser.ts';
import { Served } from './served.ts';

const SIZES = '1280x720,800x600,3840x2160';

const [folder, command, dump, judged, reference, job, running, sizes = SIZES] = process.argv.slice(2);
const servers = await Promise.all([[dump], [judged, reference], [job], [running]].map((dumps) => Served.start(command, dumps)));
const [ofOne, ofPair, ofJob, ofRunning] = servers;

interface View {
  name: string;
  at: string;
  ready: string;
  // Before the picture is taken.
  then?: (visitor: Visitor) => Promise<void>;
}

async function firstOp(visitor: Visitor): Promise<void> {
  await visitor.graph();
  await visitor.page.keyboard.press('/');
  await visitor.page.keyboard.type('Digits.norm/rsqrt');
  await visitor.page.waitForSelector('.hit.chosen');
  await visitor.page.keyboard.press('Enter');
  await visitor.page.waitForSelector('.panel .op-name');
}

const VIEWS: View[] = [
  { name: 'start', at: ofOne.at('#start'), ready: '.facts' },
  { name: 'graph', at: ofOne.at('#graph'), ready: '.graph-canvas', then: (visitor) => visitor.graph() },
  { name: 'graph op', at: ofOne.at('#graph'), ready: '.graph-canvas', then: firstOp },
  { name: 'graph heat', at: ofOne.at('#graph?heat=absmax'), ready: '.legend .ramp', then: (visitor) => visitor.graph() },
  { name: 'table', at: ofOne.at('#table'), ready: '.row' },
  { name: 'steps', at: ofOne.at('#steps'), ready: '.view > *' },
  { name: 'steps loss', at: ofOne.at('#steps?preset=loss'), ready: '.curves li' },
  { name: 'tensor', at: ofPair.at('#tensor?record=40'), ready: '.picture' },
  { name: 'pair start', at: ofPair.at('#start'), ready: '.facts' },
  { name: 'pairs', at: ofPair.at('#pairs?sort=order&only=all'), ready: '.row' },
  { name: 'pair', at: ofPair.at('#pair?pair=9'), ready: '.picture' },
  { name: 'pair graph', at: ofPair.at('#graph?heat=error'), ready: '.graph-canvas', then: (visitor) => visitor.graph() },
  { name: 'pair beside', at: ofPair.at('#graph?beside=1'), ready: '.side-name', then: (visitor) => visitor.graph() },
  { name: 'ranks', at: ofJob.at('#ranks'), ready: '.rank-cells canvas' },
  { name: 'live', at: ofRunning.at('#live'), ready: '.sparkline polyline' },
];

const browser = new TestBrowser(folder);
try {
  for (const size of sizes.split(',')) {
    const [width, height] = size.split('x').map(Number);
    for (const scheme of ['light', 'dark'] as const) {
      const look: Look = { width, height, scheme };
      const { visitor } = await browser.visitor(look);
      for (const { name, at, ready, then } of VIEWS) {
        try {
          await visitor.open(at);
          await visitor.page.waitForSelector(ready, { timeout: 20_000 });
          await then?.(visitor);
          await visitor.picture(`${name} ${size} ${scheme}`);
        } catch (problem) {
          console.log(`${name} ${size} ${scheme}: ${String(problem).split('\n')[0]}`);
        }
      }
      for (const complaint of visitor.complaints) console.log(`${size} ${scheme}: ${complaint}`);
      await visitor.page.close();
    }
  }
} finally {
  await browser.close();
  for (const server of servers) server.stop();
}
