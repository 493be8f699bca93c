// Names come from outside: a control character would move the cursor or worse.
export const printable = (text: string): string => text.replace(/\p{C}/gu, '�')

/** Columns as wide as their widest value; those named in `right` are numbers. */
export function table(headers: string[], rows: string[][], right: string[] = []): string[] {
  const lines = [headers, ...rows].map(row => row.map(printable))
  const widths = headers.map((_, i) => Math.max(...lines.map(line => [...(line[i] ?? '')].length)))
  const cell = (text: string, i: number) => {
    const padding = ' '.repeat(widths[i]! - [...text].length)
    return right.includes(headers[i]!) ? padding + text : text + padding
  }
  return lines.map(line => line.map(cell).join('  ').trimEnd())
}
