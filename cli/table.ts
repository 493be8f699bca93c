// Names come from API clients. A control character could move the cursor or change the terminal.
export const printable = (text: string): string => text.replace(/\p{C}/gu, '�')

/** Aligns each column to its widest value; the columns in `right` to the right, for numbers. */
export function textTable(headers: string[], rows: string[][], right: string[] = []): string[] {
  const lines = [headers, ...rows].map(row => row.map(printable))
  const widths = headers.map((_, i) => Math.max(...lines.map(line => [...(line[i] ?? '')].length)))
  const cell = (text: string, i: number) => {
    const padding = ' '.repeat(widths[i]! - [...text].length)
    return right.includes(headers[i]!) ? padding + text : text + padding
  }
  return lines.map(line => line.map(cell).join('  ').trimEnd())
}
