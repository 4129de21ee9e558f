// Numbers that leave the page: the clipboard, files of comma-separated values, and files that NumPy reads.

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyBySelection(text);
  }
}

// Where the page may not write the clipboard: a selection can be copied all the same.
function copyBySelection(text: string): void {
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}

export function saveFile(name: string, parts: BlobPart[], type: string): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A cell as RFC 4180 has it. A spreadsheet would run a text that begins like a formula.
function csvCell(text: string): string {
  const safe = /^[=+@\t\r]|^-(?![\d.]|inf$)/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csvOf(rows: string[][]): string {
  return rows.map((row) => row.map(csvCell).join(',') + '\r\n').join('');
}

// As spreadsheets take it from the clipboard.
export function tabbed(rows: string[][]): string {
  return rows.map((row) => row.map((cell) => cell.replace(/[\t\r\n]+/g, ' ')).join('\t')).join('\n');
}

// A name for a file out of the name of an op.
export function fileName(text: string): string {
  return (
    text
      .replace(/[^\w.-]+/g, '_')
      .replace(/^[_.]+|_+$/g, '')
      .slice(0, 80) || 'tensor'
  );
}

// The format of NumPy, version 1.0: a matrix in rows. `descr` is NumPy's name of the type.
export function npyOf(bytes: Uint8Array<ArrayBuffer>, descr: string, rows: number, columns: number): BlobPart[] {
  const words = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
  const padded = words.padEnd(Math.ceil((words.length + 11) / 64) * 64 - 11) + '\n';
  const head = new Uint8Array(10 + padded.length);
  head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, padded.length & 255, padded.length >> 8]);
  for (let i = 0; i < padded.length; i++) head[10 + i] = padded.charCodeAt(i);
  return [head, bytes];
}
