/** The last line that a bench prints. `ratio`: ours / peer. */
export type Result = { name: string; ours: number; peer: number; ratio: number; unit: string; [more: string]: unknown }

export const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Of numbers in ascending order. */
export const quantile = (sorted: number[], q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!

export const round = (value: number, digits = 0): number => Number(value.toFixed(digits))

export const thousands = (value: number): string => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')

/** Prints progress on stderr: stdout has the table and the last line only. */
export const say = (text: string): void => void process.stderr.write(`${text}\n`)

/** Prints rows under their headings; all columns but the first are aligned to the right. */
export function table(headings: string[], rows: string[][]): void {
  const all = [headings, ...rows]
  const widths = headings.map((_, i) => Math.max(...all.map(row => (row[i] ?? '').length)))
  const line = (row: string[]) =>
    widths
      .map((width, i) => (i === 0 ? (row[i] ?? '').padEnd(width) : (row[i] ?? '').padStart(width)))
      .join('  ')
      .trimEnd()
  console.log([line(headings), widths.map(width => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n'))
}

/** Reads `--name 5` or `--name=5` of the command line, else the fallback. */
export function option(name: string, fallback: number): number {
  const at = process.argv.findIndex(word => word === `--${name}` || word.startsWith(`--${name}=`))
  if (at === -1) return fallback
  const value = Number(process.argv[at]!.split('=')[1] ?? process.argv[at + 1])
  if (!(value > 0)) throw new RangeError(`--${name} must be a number above 0`)
  return value
}

export const flag = (name: string): boolean => process.argv.includes(`--${name}`)
