// Dark or light: what the system prefers, until the switch says otherwise.

export type Theme = 'light' | 'dark';
const KEY = 'tensortap-theme';

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // A page opened from disk may have no storage.
  }
}

const dark = matchMedia('(prefers-color-scheme: dark)');

export function theme(): Theme {
  const wanted = stored();
  if (wanted === 'light' || wanted === 'dark') return wanted;
  return dark.matches ? 'dark' : 'light';
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
  dispatchEvent(new Event('themechange'));
}

export function switchTheme(): void {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // The switch then lasts until the page is closed.
  }
  document.documentElement.dataset.theme = next;
  dispatchEvent(new Event('themechange'));
}

dark.addEventListener('change', applyTheme);

// A colour of app.css, such as '--text', for what is painted on a canvas.
export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

let scale = 0;
addEventListener('resize', () => (scale = 0));

// A length in the pixels of an ordinary screen, on this screen; app.css makes everything larger on very large windows.
export function interfaceScale(): number {
  if (scale === 0) scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 13;
  return scale;
}
