import { render } from 'preact';
import './app.css';
import './start/start.css';
import './graph/graph.css';
import './table/table.css';
import './tensor/tensor.css';
import './steps/steps.css';
import './compare/compare.css';
import './ranks/ranks.css';
import './live/live.css';
import './media.css';
import { App } from './app';
import { isReport } from './base/api';
import { applyTheme } from './base/theme';

// A report is one file, and has no icon beside it.
if (!isReport()) {
  const icon = document.createElement('link');
  icon.rel = 'icon';
  icon.href = '/icon.svg';
  document.head.append(icon);
}
applyTheme();
render(<App />, document.getElementById('page')!);
