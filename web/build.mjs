// Makes the bundle from web/src: index.html, icon.svg, app.js and app.css in the folder that is named (web/dist). The same sources give the same bytes.

import { readFileSync, writeFileSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const MOST_BYTES = 210_000;
const web = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(web, 'dist');
const licence = readFileSync(join(web, 'node_modules/preact/LICENSE'), 'utf8');

mkdirSync(output, { recursive: true });
await build({
  absWorkingDir: web,
  entryPoints: { app: 'src/main.tsx' },
  outdir: output,
  bundle: true,
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
  format: 'iife',
  target: ['chrome110', 'firefox115', 'safari16'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  banner: { js: `/* The page of tensortap's web view, and in it Preact, whose licence is:\n\n${licence}*/` },
  logLevel: 'warning',
});
for (const name of ['index.html', 'icon.svg']) writeFileSync(join(output, name), readFileSync(join(web, 'src', name)));
const bytes = ['index.html', 'icon.svg', 'app.js', 'app.css'].reduce((sum, name) => sum + statSync(join(output, name)).size, 0);
if (bytes > MOST_BYTES) {
  console.error(`web: the bundle has ${bytes} bytes; the limit is ${MOST_BYTES}`);
  process.exit(1);
}
