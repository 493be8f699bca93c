// Names come from API clients. A control character could move the cursor or change the terminal.
export const printable = (text: string): string => text.replace(/\p{C}/gu, '�')

/** JSON for programs, which is harmless on a terminal as well: control characters are escaped. */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(/[^\n\P{C}]/gu, found =>
    [...Array(found.length).keys()].map(i => `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`).join(''),
  )

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
