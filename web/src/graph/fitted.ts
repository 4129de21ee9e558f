// Text cut to a width. Letters are measured once, so that zooming, where every frame has another size, measures nothing.

const SIZE = 100;
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

export function fontOf(size: number, isBold: boolean): string {
  return `${isBold ? '600 ' : ''}${size}px ${FONT}`;
}

export class LetterWidths {
  private readonly pen = document.createElement('canvas').getContext('2d')!;
  private readonly known = [new Map<string, number>(), new Map<string, number>()];

  // In units of the font's size.
  private letter(letter: string, isBold: boolean): number {
    const known = this.known[Number(isBold)];
    let width = known.get(letter);
    if (width === undefined) {
      this.pen.font = fontOf(SIZE, isBold);
      width = this.pen.measureText(letter).width / SIZE;
      if (known.size > 4000) known.clear();
      known.set(letter, width);
    }
    return width;
  }

  // The width of the whole text, in units of the font's size.
  width(text: string, isBold: boolean): number {
    let width = 0;
    for (const letter of text.slice(0, 400)) width += this.letter(letter, isBold);
    return width;
  }

  // The text, or its beginning and its end with an ellipsis between: long names differ at their ends.
  fit(text: string, room: number, isBold: boolean): string {
    const letters = text.length > 400 ? [...text.slice(0, 200), ...text.slice(-200)] : [...text];
    let width = 0;
    for (const letter of letters) width += this.letter(letter, isBold);
    if (width <= room && letters.length >= text.length) return text;
    let left = room - this.letter('…', isBold);
    let head = 0;
    let tail = letters.length;
    while (head < tail) {
      // Two letters of the beginning for one of the end.
      const fromEnd = letters.length - tail < head / 2;
      const letter = fromEnd ? letters[tail - 1] : letters[head];
      left -= this.letter(letter, isBold);
      if (left < 0) break;
      if (fromEnd) tail--;
      else head++;
    }
    return letters.slice(0, head).join('') + '…' + letters.slice(tail).join('');
  }
}
