// Graphs of many ops: graph_scenarios.ts FOLDER_OF_PICTURES FACTS.json

import { readFileSync } from 'node:fs';
import { TestBrowser, type Visitor } from './browser.ts';
import { check, equal, runScenarios, type Scenario } from './scenarios.ts';
import { Served } from './served.ts';

interface Facts {
  command: string;
  // A model of 700 layers, a LayerNormalization in the middle of it, and the weight that each layer reads six times.
  deep: string;
  selected: number;
  weight: number;
}

const facts = JSON.parse(readFileSync(process.argv[3], 'utf8')) as Facts;
const deep = await Served.start(facts.command, [facts.deep]);

// The lines of the last frame, as "Add > LayerNormalization".
async function lines(visitor: Visitor): Promise<string[]> {
  return (await visitor.page.evaluate(`(() => {
    const { graph, edges } = window.tensortapFrames.scene;
    return edges.map((edge) => graph.name(graph.edgeFrom[edge]) + ' > ' + graph.name(graph.edgeTo[edge]));
  })()`)) as string[];
}

const selected: Scenario = {
  name: 'the lines of the selected op are drawn, however many pass it',
  async run(visitor) {
    await visitor.open(deep.at(`#graph?open=all&op=${facts.selected}`));
    await visitor.graph();
    await visitor.picture('deep selected');
    const drawn = await lines(visitor);
    for (const line of ['Add > LayerNormalization', 'LayerNormalization > MatMul']) {
      check(drawn.slice(0, 4).includes(line), `${line} is not among the first lines: ${drawn.slice(0, 4).join(', ')}`);
    }
    check(drawn.length < 200, `${drawn.length} lines pass one op`);
    check((await visitor.text('.left-out')).includes('3 constants'), 'it is not said that lines are folded');
  },
};

const folded: Scenario = {
  name: 'the lines of a constant that very many ops read are drawn when it is selected, and the rest is said',
  async run(visitor) {
    await visitor.open(deep.at('#graph?open=all'));
    await visitor.graph();
    check(!(await lines(visitor)).some((line) => line.startsWith('w > ')), 'lines of a folded constant are drawn');
    await visitor.open(deep.at(`#graph?open=all&op=${facts.weight}`));
    await visitor.graph();
    await visitor.picture('deep constant');
    check((await lines(visitor)).filter((line) => line.startsWith('w > ')).length > 100, 'the lines of the selected constant are missing');
    check(/\d lines left out/.test(await visitor.text('.left-out')), 'it is not said that lines are left out');
    const marks = (await visitor.page.evaluate('window.tensortapFrames.mostMarks')) as number;
    check(marks <= 2500, `${marks} marks in a frame`);
  },
};

const bundled: Scenario = {
  name: 'lines between the same two boxes are one line',
  async run(visitor) {
    await visitor.open(deep.at('#graph?open=all'));
    await visitor.graph();
    await visitor.page.keyboard.press('f');
    await visitor.until('window.tensortapViewport.view.k < 0.1 && window.tensortapFrames.scene.boxes.length > 1');
    await visitor.picture('deep far');
    const twice = await visitor.page.evaluate(`(() => {
      const { scene } = window.tensortapFrames;
      const ends = scene.edges.map((edge) => [scene.graph.edgeFrom[edge], scene.graph.edgeTo[edge]].map((node) => scene.shownAs(node)));
      const inside = ends.filter(([from, to]) => from >= 0 && to >= 0).map(String);
      return inside.length - new Set(inside).size;
    })()`);
    equal(twice, 0, 'lines that lie on others');
  },
};

// Where the middle of a node is on the screen, by its name in the drawn graph.
async function placeOf(visitor: Visitor, name: string): Promise<{ x: number; y: number }> {
  const place = await visitor.page.evaluate(`(() => {
    const { graph } = window.tensortapFrames.scene;
    const node = graph.left.findIndex((_, at) => graph.name(at) === ${JSON.stringify(name)});
    const at = window.tensortapViewport.toWindow(graph.left[node] + graph.width[node] / 2, graph.top[node] + graph.height[node] / 2);
    const box = document.querySelector('.graph-canvas').getBoundingClientRect();
    return { x: at.x + box.left, y: at.y + box.top };
  })()`);
  return place as { x: number; y: number };
}

const hover: Scenario = {
  name: 'an op and a line under the pointer have their shapes',
  async run(visitor) {
    await visitor.open(deep.at('#graph?open=all'));
    await visitor.graph();
    const [softmax, product] = [await placeOf(visitor, 'Softmax'), await placeOf(visitor, 'MatMul_1')];
    await visitor.page.mouse.move(softmax.x, softmax.y);
    await visitor.until(`document.querySelector('.hover-card')?.textContent.includes('out0 float32 [8, 8]')`);
    check((await visitor.text('.hover-card')).includes('Softmax'), 'the name under the pointer');
    await visitor.page.mouse.move(softmax.x, softmax.y + 24);
    await visitor.until(`document.querySelector('.hover-card')?.textContent.includes('Softmax → MatMul_1')`);
    await visitor.until(`document.querySelector('.hover-card')?.textContent.includes('out0 float32 [8, 8]')`);
    await visitor.picture('deep hover');
    check(product.y > softmax.y, 'the picture is upside down');
  },
};

const highlight: Scenario = {
  name: 'all ops of a type stand out, those in closed groups too',
  async run(visitor) {
    await visitor.open(deep.at(`#graph?open=all&op=${facts.selected}`));
    await visitor.graph();
    await visitor.page.click('button:text-is("Highlight all")');
    await visitor.until(`document.querySelector('.chip')?.textContent.replace(/\\s/g, '').startsWith('700opsofLayerNormalization')`);
    equal(visitor.fragment().get('type'), 'LayerNormalization', 'the type in the address');
    await visitor.picture('deep highlight');
    await visitor.page.click('.chip');
    await visitor.until(`!document.querySelector('.chip')`);
  },
};

const overview: Scenario = {
  name: 'labels that have room are whole, the legend has the families, and the small picture moves the large one',
  async run(visitor) {
    await visitor.open(deep.at('#graph?open=all'));
    await visitor.graph();
    const legend = await visitor.text('.families');
    for (const family of ['matrix product', 'normalisation', 'activation', 'arithmetic'])
      check(legend.includes(family), `${family} in ${legend}`);
    const before = (await visitor.page.evaluate('window.tensortapViewport.view.y')) as number;
    const map = (await visitor.page.locator('.minimap').boundingBox())!;
    await visitor.page.mouse.click(map.x + map.width / 2, map.y + map.height - 12);
    await visitor.until(`window.tensortapViewport.view.y > ${before} + 10000`);
    await visitor.picture('deep minimap');
  },
};

// The corners of a group in the window, and whether it is open.
async function groupBox(visitor: Visitor, name: string): Promise<{ left: number; top: number; right: number; isOpen: boolean }> {
  const box = await visitor.page.evaluate(`(() => {
    const { graph } = window.tensortapFrames.scene;
    const node = graph.left.findIndex((_, at) => graph.isGroup[at] && graph.name(at) === ${JSON.stringify(name)});
    const from = window.tensortapViewport.toWindow(graph.left[node], graph.top[node]);
    const to = window.tensortapViewport.toWindow(graph.left[node] + graph.width[node], 0);
    return { left: from.x, top: from.y, right: to.x, isOpen: graph.isOpen[node] === 1 };
  })()`);
  return box as { left: number; top: number; right: number; isOpen: boolean };
}

const modules: Scenario = {
  name: 'the first view begins with the modules, and a group that opens is shown from its top',
  async run(visitor) {
    await visitor.open(deep.at('#graph?open=all'));
    await visitor.graph();
    const first = await groupBox(visitor, 'model');
    check(first.top >= 0 && first.top < 60 && first.left >= 0 && first.right <= 1280, `the first view: ${JSON.stringify(first)}`);
    await visitor.open(deep.at('#graph?open=none'));
    await visitor.graph();
    const place = await placeOf(visitor, 'model');
    await visitor.page.mouse.dblclick(place.x, place.y);
    await visitor.until(`location.hash.includes('plus=')`);
    await visitor.until(`window.tensortapFrames.scene.graph.nodes > 500 && !document.querySelector('.busy')`);
    const opened = await groupBox(visitor, 'model');
    check(opened.isOpen && opened.top >= 0 && opened.top < 60, `the group that was opened: ${JSON.stringify(opened)}`);
    await visitor.picture('deep opened');
  },
};

const browser = new TestBrowser(process.argv[2]);
try {
  await runScenarios(browser, [selected, folded, bundled, hover, highlight, overview, modules]);
} finally {
  await browser.close();
  deep.stop();
}
