// The command that shows in a terminal what the page shows.

export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

export function commandLine(words: string[], options: Record<string, string | number | null | undefined>): string {
  const parts = words.map(quoted);
  for (const [name, value] of Object.entries(options)) {
    if (value !== null && value !== undefined && value !== '') parts.push(`--${name}`, quoted(String(value)));
  }
  return parts.join(' ');
}

// As a regular expression that matches this name and no other.
export function exactly(name: string): string {
  return `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;
}
