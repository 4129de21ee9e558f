// `tensortap serve` as a child process: finds the address that it prints, and ends it.

import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]+/;
const PATIENCE = 60_000;
// Dumps of the project's own examples name their lines from here.
const PROJECT = join(import.meta.dirname, '../..');

export class Served {
  readonly address: string;
  readonly process: number;
  private readonly child: ChildProcess;

  private constructor(child: ChildProcess, address: string) {
    this.child = child;
    this.process = child.pid!;
    this.address = address;
  }

  static start(command: string, dumps: string[]): Promise<Served> {
    const child = spawn(command, ['serve', '--no-open', ...dumps], { cwd: PROJECT, stdio: ['ignore', 'pipe', 'pipe'] });
    return new Promise((done, failed) => {
      let said = '';
      const fail = (why: string) => {
        child.kill();
        failed(new Error(`tensortap serve ${dumps.join(' ')}: ${why}\n${said}`));
      };
      const timer = setTimeout(() => fail('no address was printed'), PATIENCE);
      const read = (part: Buffer) => {
        said += part.toString();
        const address = ADDRESS.exec(said);
        if (!address) return;
        clearTimeout(timer);
        done(new Served(child, address[0]));
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.on('error', (problem) => fail(problem.message));
      child.on('exit', (code) => fail(`ended with ${code}`));
    });
  }

  // The page at a place of it, such as "#table?row=3".
  at(fragment: string): string {
    return this.address + fragment;
  }

  stop(): void {
    this.child.removeAllListeners('exit');
    this.child.kill('SIGTERM');
  }
}
