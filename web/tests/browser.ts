// Drives Debian's Chromium without a window, and collects what a page complains of.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

export const CHROMIUM = process.env.TENSORTAP_TEST_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
export const PATIENCE = Number(process.env.TENSORTAP_TEST_PATIENCE ?? 60_000);

export interface Look {
  width: number;
  height: number;
  scheme: 'light' | 'dark';
}

export const ORDINARY: Look = { width: 1280, height: 720, scheme: 'light' };

export class Visitor {
  readonly complaints: string[] = [];
  readonly page: Page;
  private readonly pictures: string;

  constructor(page: Page, pictures: string) {
    this.page = page;
    this.pictures = pictures;
    page.setDefaultTimeout(PATIENCE);
    page.on('pageerror', (error) => this.complaints.push(String(error.stack ?? error)));
    page.on('console', (message) => {
      // An answer with an error is reported by the browser, too; the page shows it in words.
      const expected = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !expected) this.complaints.push(message.text());
    });
  }

  async open(address: string): Promise<void> {
    // The same document with another fragment would not be loaded again.
    await this.page.goto('about:blank');
    await this.page.goto(address);
    await this.page.waitForSelector('.view > *');
  }

  async picture(name: string): Promise<void> {
    await this.until("!document.querySelector('.busy, .loading')");
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await this.page.screenshot({ path: join(this.pictures, `${name}.png`) });
  }

  // Waits for the first frame of a graph.
  async graph(): Promise<void> {
    await this.page.waitForSelector('.graph-canvas');
    await this.until('window.tensortapFrames?.frames > 0');
  }

  failurePath(name: string): string {
    return join(this.pictures, `failed ${name}.png`);
  }

  text(selector: string): Promise<string> {
    return this.page.locator(selector).first().innerText();
  }

  // Waits until an expression holds in the page. The page's own policy forbids what waitForFunction does with a text.
  async until(condition: string): Promise<void> {
    const end = Date.now() + PATIENCE;
    while (!(await this.page.evaluate(condition))) {
      if (Date.now() > end) throw new Error(`never came true: ${condition}`);
      await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    }
  }

  fragment(): URLSearchParams {
    return new URLSearchParams(new URL(this.page.url()).hash.split('?')[1] ?? '');
  }
}

export class TestBrowser {
  private readonly profile: string;
  private readonly pictures: string;
  private browser: Browser | null = null;

  constructor(pictures: string) {
    this.pictures = pictures;
    this.profile = mkdtempSync(join(tmpdir(), 'tensortap-chromium-'));
    mkdirSync(pictures, { recursive: true });
  }

  async visitor(look: Look = ORDINARY): Promise<{ visitor: Visitor; context: BrowserContext }> {
    this.browser ??= await chromium.launch({ executablePath: CHROMIUM, args: FLAGS, env: { ...process.env, HOME: this.profile } });
    const context = await this.browser.newContext({ viewport: { width: look.width, height: look.height }, colorScheme: look.scheme });
    return { visitor: new Visitor(await context.newPage(), this.pictures), context };
  }

  async close(): Promise<void> {
    await this.browser?.close();
    rmSync(this.profile, { recursive: true, force: true });
  }
}
