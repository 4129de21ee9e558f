// What `./dev bench --web` measures in the browser, one JSON object a line:
//   bench.ts FOLDER serve COMMAND DUMP     the page of `tensortap serve`
//   bench.ts FOLDER peer READY PROGRAM...  another viewer; {port} in its words is replaced, READY says when its first picture is drawn

import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { TestBrowser, type Visitor } from './browser.ts';
import { fly } from './flight.ts';
import { Served } from './served.ts';

const PATIENCE_SECONDS = 240;
const FRAMES = 120;
const WHEEL_FRAMES = 60;

const [folder, kind, ...words] = process.argv.slice(2);
const browser = new TestBrowser(folder);

const seconds = (since: number) => (performance.now() - since) / 1000;

// Its own, and that of files, whose pages it shares with the system's cache; in MiB.
function memory(process_: number): { own: number; files: number } {
  const status = readFileSync(`/proc/${process_}/status`, 'utf8');
  const mebibytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { own: mebibytes('RssAnon'), files: mebibytes('RssFile') };
}

// By the browser's own protocol: pages that forbid eval, such as Netron's, know of no other way.
async function evaluate(visitor: Visitor, expression: string): Promise<unknown> {
  const session = await visitor.page.context().newCDPSession(visitor.page);
  const answer = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  await session.detach();
  return answer.result.value;
}

const WHEEL = `new Promise((done) => {
  const [x, y] = [innerWidth / 2, innerHeight / 2];
  const intervals = [];
  let last = 0;
  let i = 0;
  const deepest = () => {
    let element = document.elementFromPoint(x, y) ?? document.body;
    while (element.shadowRoot?.elementFromPoint(x, y)) element = element.shadowRoot.elementFromPoint(x, y);
    return element;
  };
  const step = (now) => {
    if (last > 0) intervals.push(now - last);
    last = now;
    if (i++ === ${WHEEL_FRAMES}) return done(intervals.sort((a, b) => a - b)[Math.floor(intervals.length * 0.95)]);
    const options = { bubbles: true, composed: true, cancelable: true, clientX: x, clientY: y, ctrlKey: true };
    deepest().dispatchEvent(new WheelEvent('wheel', { ...options, deltaY: i <= ${WHEEL_FRAMES / 2} ? -60 : 60 }));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

// The same turns of the wheel over any viewer: in, then out again; 95 of 100 frames take no longer, in milliseconds.
async function wheel(visitor: Visitor): Promise<number> {
  return (await evaluate(visitor, WHEEL)) as number;
}

async function paint(visitor: Visitor): Promise<void> {
  await evaluate(visitor, 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))');
}

async function benchServe(visitor: Visitor, command: string, dump: string) {
  const begin = performance.now();
  const server = await Served.start(command, [dump]);
  const listening = seconds(begin);
  await visitor.page.goto(server.address);
  await visitor.page.waitForSelector('.start-view .facts');
  await paint(visitor);
  const start = seconds(begin);
  await visitor.until(`document.querySelector('.finding') && !document.querySelector('.looking')`);
  await paint(visitor);
  const sentences = seconds(begin);
  const before = performance.now();
  await visitor.page.goto(server.at('#graph?open=all'));
  await visitor.until('window.tensortapFrames?.frames > 0');
  await paint(visitor);
  const graph = seconds(before);
  await visitor.picture('bench');
  const flight = await fly(visitor.page, FRAMES);
  const wheeled = await wheel(visitor);
  const used = memory(server.process);
  server.stop();
  return { listening, start, sentences, graph, flight, wheel: wheeled, memory: used };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

async function comesTrue(visitor: Visitor, ready: string): Promise<boolean> {
  const end = performance.now() + PATIENCE_SECONDS * 1000;
  while (performance.now() < end) {
    if (await evaluate(visitor, ready).catch(() => false)) return true;
    await new Promise((done) => setTimeout(done, 50));
  }
  return false;
}

async function benchPeer(visitor: Visitor, ready: string, program: string[]) {
  const port = await freePort();
  const [address, ...run] = program.map((word) => word.replaceAll('{port}', String(port)));
  const begin = performance.now();
  const child = spawn(run[0], run.slice(1), { stdio: 'ignore' });
  try {
    while (!(await fetch(address).catch(() => null))?.ok && seconds(begin) < PATIENCE_SECONDS) {
      await new Promise((done) => setTimeout(done, 50));
    }
    const listening = seconds(begin);
    // Netron would ask for consent to this cookie first.
    await visitor.page.context().addCookies([{ name: 'consent', value: String(Date.now()), url: address }]);
    await visitor.page.goto(address);
    if (!(await comesTrue(visitor, ready))) {
      await visitor.page.screenshot({ path: `${folder}/peer.png` });
      return { listening, graph: null, wheel: null };
    }
    await paint(visitor);
    const graph = seconds(begin) - listening;
    await visitor.page.screenshot({ path: `${folder}/peer.png` });
    return { listening, graph, wheel: await wheel(visitor) };
  } finally {
    child.kill();
  }
}

try {
  const { visitor } = await browser.visitor();
  // A browser that has just begun is slow.
  await visitor.page.goto('about:blank');
  const result = kind === 'serve' ? await benchServe(visitor, words[0], words[1]) : await benchPeer(visitor, words[0], words.slice(1));
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}
