// A table of named tests: each runs alone, and one that fails does not stop the next. Answers are lines of JSON on standard output.

import type { TestBrowser, Look, Visitor } from './browser.ts';

export interface Scenario {
  name: string;
  look?: Look;
  run(visitor: Visitor): Promise<void>;
}

export function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

export function equal<Type>(found: Type, wanted: Type, what: string): void {
  check(JSON.stringify(found) === JSON.stringify(wanted), `${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}

export async function runScenarios(browser: TestBrowser, scenarios: Scenario[]): Promise<void> {
  const wanted = process.env.TENSORTAP_TEST_SCENARIO;
  for (const scenario of scenarios.filter((one) => !wanted || one.name.includes(wanted))) {
    const { visitor, context } = await browser.visitor(scenario.look);
    let problem: string | null = null;
    try {
      await scenario.run(visitor);
      if (visitor.complaints.length > 0) problem = visitor.complaints.join('\n');
    } catch (error) {
      problem = `${(error as Error).message}\n${visitor.complaints.join('\n')}`;
      await visitor.page.screenshot({ path: visitor.failurePath(scenario.name) }).catch(() => undefined);
    }
    await context.close();
    console.log(JSON.stringify({ name: scenario.name, problem }));
  }
}
