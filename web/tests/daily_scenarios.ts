// What people do with a dump every day: daily_scenarios.ts FOLDER_OF_PICTURES COMMAND TRAINING FULL STRINGS
// STRINGS has a record of type string. TRAINING is a dump of tests/web_daily_test.py's training, statistics only; FULL is the same with its tensors.

import { readFileSync } from 'node:fs';
import { TestBrowser, type Look, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

const [folder, command, trainingDump, fullDump, stringsDump] = process.argv.slice(2);
const dumps = [trainingDump, fullDump, stringsDump];
const [training, full, strings] = await Promise.all(dumps.map((dump) => Served.start(command, [dump])));

const SMALL: Look = { width: 800, height: 600, scheme: 'light' };
const SMALL_DARK: Look = { width: 800, height: 600, scheme: 'dark' };
const DARK: Look = { width: 1280, height: 720, scheme: 'dark' };
// A window of 1280 by 720 at twice the usual size.
const ZOOMED: Look = { width: 640, height: 360, scheme: 'light' };
const LOOKS: [string, Look | undefined][] = [
  ['', undefined],
  ['dark', DARK],
  ['800', SMALL],
  ['800 dark', SMALL_DARK],
  ['200 %', ZOOMED],
];

// Nothing that can be used is outside of the window, and what should be seen has room.
async function checkFits(visitor: Visitor, what: string, leastHeight: number): Promise<void> {
  const outside = await visitor.page.evaluate(() =>
    [...document.querySelectorAll('.bar a, .bar button, .toolbar :is(a, button, input, select, summary)')]
      .filter((element) => {
        const box = element.getBoundingClientRect();
        const nav = element.closest('nav');
        return box.width > 0 && !nav && (box.left < 0 || box.right > innerWidth + 1);
      })
      .map((element) => element.textContent || (element as HTMLInputElement).name),
  );
  equal(outside, [], 'outside of the window');
  const box = await visitor.page.locator(what).first().boundingBox();
  check(box !== null && box.height >= leastHeight, `${what} is ${box?.height} high`);
}

async function cells(visitor: Visitor, column: string): Promise<string[]> {
  return visitor.page.locator(`.row [data-column="${column}"]`).allInnerTexts();
}

async function loaded(visitor: Visitor): Promise<void> {
  await visitor.until(`document.querySelector('.row .op') && !document.querySelector('.cell.waiting')`);
}

function tableLook([name, look]: [string, Look | undefined]): Scenario {
  return {
    name: `the table fits its window ${name}`,
    look,
    async run(visitor) {
      await visitor.open(training.at('#table?row=3'));
      await loaded(visitor);
      await checkFits(visitor, '.list', 100);
      await visitor.picture(`daily table ${name}`);
      await visitor.page.click('summary:text("Columns")');
      await visitor.picture(`daily columns ${name}`);
    },
  };
}

const filters: Scenario = {
  name: 'op and type are filtered with suggestions, floats only, and the command says the same',
  async run(visitor) {
    const { page } = visitor;
    await visitor.open(training.at('#table'));
    await loaded(visitor);
    await page.fill('input[name=type]', 'nll');
    await visitor.until(`[...document.querySelectorAll('#names-of-type option')].some((one) => one.value === 'nll_loss_forward')`);
    await page.fill('input[name=type]', 'addmm,relu');
    await page.keyboard.press('Enter');
    await visitor.until(`location.hash.includes('addmm')`);
    await loaded(visitor);
    equal([...new Set(await cells(visitor, 'type'))].sort(), ['addmm', 'relu'], 'the types');
    await page.fill('input[name=type]', '');
    await page.keyboard.press('Enter');
    await page.fill('input[name=op]', 'embed');
    await visitor.until(`[...document.querySelectorAll('#names-of-op option')].some((one) => one.value === 'Net.emb/embedding')`);
    await page.fill('input[name=op]', 'Net.emb/embedding');
    await page.keyboard.press('Enter');
    await visitor.until(
      `document.querySelectorAll('.row').length > 0 && [...document.querySelectorAll('.row .op')].every((one) => one.textContent === 'Net.emb/embedding')`,
    );
    check((await cells(visitor, 'dtype')).includes('int64'), 'the indices are among all types');
    await page.check('input[name=floats]');
    await visitor.until(`[...document.querySelectorAll('.row .dtype')].every((one) => one.textContent === 'float32')`);
    const copied = await page.locator('button:text("Copy as command")').getAttribute('title');
    check(copied!.includes('--op Net.emb/embedding') && copied!.includes("dtype == '\\''float32'\\''"), copied!);
    equal(await page.inputValue('input[name=where]'), '', 'the condition that was typed');
    await page.fill('input[name=where]', 'max > 0');
    await page.keyboard.press('Enter');
    await visitor.until(`new URLSearchParams(location.hash.split('?')[1]).get('where').startsWith('(max > 0) and (')`);
  },
};

const exact: Scenario = {
  name: 'whole numbers have all digits, and unwritten memory is marked as the command does it',
  async run(visitor) {
    await visitor.open(training.at(`#table?type=add&slot=out&where=${encodeURIComponent("dtype == 'int64'")}&sort=-max`));
    await loaded(visitor);
    equal((await cells(visitor, 'max'))[0], '9007199254740993', 'a number that is larger than 2 to the power of 53');
    const wide = await visitor.page
      .locator('.row [data-column="max"]')
      .first()
      .evaluate((element) => element.scrollWidth <= element.clientWidth);
    check(wide, 'the number is cut off');
    await visitor.open(training.at('#table?type=empty'));
    await loaded(visitor);
    equal((await cells(visitor, 'min'))[0], 'unwritten', 'memory that nothing was written to');
    equal((await cells(visitor, 'max'))[0], '-', 'what was not measured');
    await visitor.picture('daily unwritten');
  },
};

const chooser: Scenario = {
  name: 'columns are chosen, and stand in the address and in the command',
  async run(visitor) {
    await visitor.open(training.at('#table?step=1'));
    await loaded(visitor);
    await visitor.page.click('summary:text("Columns")');
    await visitor.page.check('input[name=column-l2]');
    await visitor.page.check('input[name=column-module]');
    await visitor.page.uncheck('input[name=column-std]');
    await visitor.until(`document.querySelector('.row [data-column=l2]') && !document.querySelector('.row [data-column=std]')`);
    check(visitor.fragment().get('columns')!.split(',').includes('module'), 'the address');
    check((await cells(visitor, 'module')).includes('Net.emb'), 'the modules');
    const copied = await visitor.page.locator('button:text("Copy as command")').getAttribute('title');
    check(copied!.includes('--columns row,step,op,type,slot,module,'), copied!);
    await visitor.page.click('button:text("The usual ones")');
    await visitor.until(`!location.hash.includes('columns')`);
  },
};

const takeOut: Scenario = {
  name: 'cells, rows and the whole table are taken out with every digit',
  async run(visitor) {
    const { page } = visitor;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
    await visitor.open(training.at('#table?type=nll_loss_forward&slot=out0'));
    await loaded(visitor);
    await page.locator('.row [data-column="mean"]').first().click();
    await page.locator('.list').focus();
    await page.keyboard.press('Control+c');
    await visitor.until(`document.querySelector('.cell.focused')`);
    const full = await page.locator('.cell.focused').getAttribute('title');
    await visitor.until(`navigator.clipboard.readText().then((text) => text === ${JSON.stringify(full)})`);
    check((await clipboard()).length > 8, `only ${await clipboard()} was copied`);
    await page.click('summary:text("Take out")');
    await visitor.picture('daily take out');
    await page.click('button:text("Copy the row")');
    await visitor.until(
      `document.querySelector('.menu-panel p')?.textContent && navigator.clipboard.readText().then((text) => text.includes('\\t'))`,
    );
    const lines = (await clipboard()).split('\n');
    equal([lines.length, lines[0].split('\t').length], [2, lines[1].split('\t').length], 'lines and cells of the row');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('button:text-is("Save as CSV")')]);
    const saved = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n');
    equal(saved.length, 21, 'lines of the file');
    check(saved[0].startsWith('row,step,op,type') && saved[1].includes(',nll_loss_forward,'), saved.slice(0, 2).join('\n'));
  },
};

async function curveNames(visitor: Visitor): Promise<string[]> {
  return visitor.page.locator('.curves li span:nth-of-type(1)').allInnerTexts();
}

function stepsLook([name, look]: [string, Look | undefined]): Scenario {
  return {
    name: `the curves fit their window ${name}`,
    look,
    async run(visitor) {
      await visitor.open(training.at('#steps?preset=gradients'));
      await visitor.page.waitForSelector('.curves li');
      await checkFits(visitor, '.chart', 80);
      await visitor.picture(`daily gradients ${name}`);
    },
  };
}

const picker: Scenario = {
  name: 'ops are picked by name into one chart, and one that runs twice has one point for each step',
  async run(visitor) {
    const { page } = visitor;
    await visitor.open(training.at('#steps?op=0'));
    await page.waitForSelector('input[name=pick]');
    await visitor.open(training.at('#steps'));
    await page.waitForSelector('input[name=pick]');
    await page.fill('input[name=pick]', 'Net.block/relu');
    await page.keyboard.press('Enter');
    await visitor.until(`location.hash.includes('op=')`);
    await visitor.until(
      `document.querySelector('.op-name')?.textContent === 'Net.block/relu' || document.querySelector('.shown-ops')?.textContent.includes('Net.block/relu')`,
    );
    const op = [
      visitor.fragment().get('op'),
      ...visitor
        .fragment()
        .getAll('with')
        .map((one) => one.split(':')[0]),
    ].at(-1);
    await visitor.open(training.at(`#steps?op=${op}`));
    await visitor.until(`document.querySelector('.op-name')?.textContent === 'Net.block/relu'`);
    equal(await curveNames(visitor), ['out0'], 'the curves');
    check((await visitor.text('.chart-note')).includes('2 times in a step: each point is the largest'), await visitor.text('.chart-note'));
    await visitor.picture('daily one point');
    await page.check('input[name=calls]');
    await visitor.until(`document.querySelectorAll('.curves li').length === 2`);
    equal(await curveNames(visitor), ['out0 call 0', 'out0 call 1'], 'a curve for each call');
    await page.uncheck('input[name=calls]');
    await page.fill('input[name=pick]', 'loss');
    await page.keyboard.press('Enter');
    await visitor.until(`document.querySelectorAll('.curves li').length === 2`);
    equal(await curveNames(visitor), ['Net.block/relu out0', 'nll_loss_forward out0'], 'two ops in one chart');
    await visitor.picture('daily two ops');
    await page.click('.shown-ops button:text("relu")');
    await visitor.until(`document.querySelector('.op-name')?.textContent === 'nll_loss_forward'`);
  },
};

const presets: Scenario = {
  name: 'the loss and the gradient norm of each module are one click away, and a search for loss finds it first',
  async run(visitor) {
    const { page } = visitor;
    await visitor.open(training.at('#steps'));
    await page.click('button:text-is("Loss")');
    await visitor.until(`document.querySelector('.op-name')?.textContent === 'nll_loss_forward'`);
    equal(await curveNames(visitor), ['out0'], 'the loss');
    await visitor.picture('daily loss');
    await page.click('button:text("Gradient norm by module")');
    await visitor.until(`document.querySelectorAll('.curves li').length > 1`);
    equal((await curveNames(visitor)).sort(), ['Net.block.linear', 'Net.block.norm', 'Net.emb', 'Net.head'], 'the modules');
    await visitor.page.keyboard.press('/');
    await visitor.page.keyboard.type('loss');
    await visitor.until(`document.querySelector('.hit.chosen .hit-name')?.textContent === 'nll_loss_forward'`);
  },
};

function startLook([name, look]: [string, Look | undefined]): Scenario {
  return {
    name: `the start page of a healthy dump has something to look at ${name}`,
    look,
    async run(visitor) {
      await visitor.open(training.at(''));
      await visitor.page.waitForSelector('.overview-card');
      await visitor.until(`document.querySelectorAll('.overview-card').length === 5`);
      await checkFits(visitor, '.start-view', 200);
      const titles = await visitor.page.locator('.overview-card h2').allInnerTexts();
      const wanted = ['Largest values', 'Closest to the limit of their type', 'Slowest ops', 'Biggest tensors', 'What was not captured'];
      equal(titles, wanted, 'the cards');
      check((await visitor.text('.overview-card:nth-of-type(2)')).includes('doublings left in float32'), 'how close');
      check((await visitor.text('.overview-card:nth-of-type(3)')).includes('% of all'), 'the time');
      check((await visitor.text('.overview-card:nth-of-type(5)')).includes('were captured'), 'what is missing');
      await visitor.picture(`daily start ${name}`);
      await visitor.page.locator('.overview-card a').first().click();
      await visitor.page.waitForSelector('.tensor-side');
    },
  };
}

const slices: Scenario = {
  name: 'the values of a tensor are saved as CSV and as .npy',
  async run(visitor) {
    const { page } = visitor;
    await visitor.open(full.at('#table?type=addmm&slot=out&step=1'));
    await loaded(visitor);
    await page.dblclick('.row .op');
    await page.waitForSelector('.picture');
    await page.click('.tensor-main summary:text("Take out")');
    await visitor.picture('daily slice');
    const saved = async (button: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.click(`button:text-is("${button}")`)]);
      return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
    };
    const csv = await saved('Save as CSV');
    const npy = await saved('Save as .npy');
    check(csv.name.endsWith('.csv') && npy.name.endsWith('.npy'), `${csv.name}, ${npy.name}`);
    equal([...npy.bytes.subarray(0, 6)], [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59], 'the beginning of the file');
    const length = npy.bytes.readUInt16LE(8);
    const head = npy.bytes.subarray(10, 10 + length).toString('latin1');
    const shape = /'shape': \((\d+), (\d+)\)/.exec(head)!.slice(1).map(Number);
    equal([shape, (10 + length) % 64, head.includes("'<f4'")], [[96, 16], 0, true], head);
    const values = Array.from({ length: 96 * 16 }, (_, i) => npy.bytes.readFloatLE(10 + length + 4 * i));
    equal(npy.bytes.length, 10 + length + 4 * values.length, 'bytes');
    const texts = csv.bytes
      .toString()
      .trimEnd()
      .split('\r\n')
      .flatMap((line) => line.split(','));
    equal(
      texts.map((text) => Math.fround(Number(text))),
      values,
      'the two files',
    );
  },
};

const texts: Scenario = {
  name: 'strings are shown as text',
  async run(visitor) {
    await visitor.open(strings.at(`#table?where=${encodeURIComponent("dtype == 'string'")}`));
    await loaded(visitor);
    await visitor.page.dblclick('.row .op');
    await visitor.page.waitForSelector('.text-list .text');
    equal(await visitor.page.locator('.text-list .text').allTextContents(), ['ab', '<b>é</b>'], 'the texts');
    await visitor.picture('daily strings');
  },
};

// Every view has one main part, and every control has a name.
const landmarks: Scenario = {
  name: 'every view has one main landmark, names for its controls, an icon, and a form for paper',
  async run(visitor) {
    for (const view of ['start', 'graph', 'table', 'steps?preset=loss', 'tensor?record=4']) {
      await visitor.open(training.at(`#${view}`));
      await visitor.page.waitForSelector('main > *');
      const found = await visitor.page.evaluate(() => ({
        mains: document.querySelectorAll('main').length,
        unnamed: [...document.querySelectorAll('button, a[href], input, select, summary')].filter((element) => {
          const labels = (element as HTMLInputElement).labels;
          return !(element.textContent?.trim() || element.getAttribute('aria-label') || labels?.length);
        }).length,
        icon: document.querySelectorAll('link[rel=icon]').length,
      }));
      equal(found, { mains: 1, unnamed: 0, icon: 1 }, view);
    }
    await visitor.open(training.at('#start'));
    await visitor.page.waitForSelector('.overview-card');
    await visitor.page.keyboard.press('t');
    await visitor.page.emulateMedia({ media: 'print' });
    equal(await visitor.page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)', 'paper');
    equal(await visitor.page.evaluate('getComputedStyle(document.body).overflow'), 'visible', 'the pages after the first');
    check(!(await visitor.page.locator('.bar button').first().isVisible()), 'buttons on paper');
    await visitor.page.screenshot({ path: `${folder}/daily paper.png`, fullPage: true });
  },
};

const browser = new TestBrowser(folder);
try {
  await runScenarios(browser, [
    ...LOOKS.map(tableLook),
    filters,
    exact,
    chooser,
    takeOut,
    ...LOOKS.map(stepsLook),
    picker,
    presets,
    ...LOOKS.map(startLook),
    slices,
    texts,
    landmarks,
  ]);
} finally {
  await browser.close();
  for (const server of [training, full, strings]) server.stop();
}
