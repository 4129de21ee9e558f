import { render } from 'preact';
import './app.css';
import './start/start.css';
import './graph/graph.css';
import './table/table.css';
import './tensor/tensor.css';
import './steps/steps.css';
import './compare/compare.css';
import './ranks/ranks.css';
import { App } from './app';
import { applyTheme } from './base/theme';

applyTheme();
render(<App />, document.getElementById('page')!);
