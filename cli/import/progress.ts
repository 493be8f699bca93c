import process from 'node:process'
import { Presets, SingleBar } from 'cli-progress'

export type Progress = {
  /** Rows and bytes of the whole file that are done. */
  update(rows: number, bytes: number): void
  /** Prints a line that the bar does not overwrite. */
  say(line: string): void
  stop(): void
}

const LINE_EVERY_MS = 5_000

export const counted = (n: number): string => n.toLocaleString('en-US')

/** A bar on a terminal, otherwise a line every 5 s. `done`: what an earlier run has imported. */
export function showProgress(file: { size: number }, done: { rows: number; end: number }, note: (line: string) => void): Progress {
  const begin = performance.now()
  const rate = (rows: number) => counted(Math.round((rows - done.rows) / Math.max(0.001, (performance.now() - begin) / 1000)))
  return process.stderr.isTTY ? bar(file.size, done, rate, note) : lines(file.size, rate, note)
}

type Rate = (rows: number) => string

function bar(size: number, done: { rows: number; end: number }, rate: Rate, note: (line: string) => void): Progress {
  const format = '{bar} {percentage} % | {rows} rows | {rate} rows/s'
  const shown = new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true }, Presets.shades_classic)
  shown.start(size, done.end, { rows: counted(done.rows), rate: 0 })
  return {
    update: (rows, bytes) => shown.update(bytes, { rows: counted(rows), rate: rate(rows) }),
    say: line => note(`\r\x1b[K${line}`),
    stop: () => shown.stop(),
  }
}

function lines(size: number, rate: Rate, note: (line: string) => void): Progress {
  let shown = performance.now()
  return {
    update(rows, bytes) {
      if (performance.now() - shown < LINE_EVERY_MS) return
      shown = performance.now()
      note(`${Math.floor((bytes / size) * 100)} % | ${counted(rows)} rows | ${rate(rows)} rows/s`)
    },
    say: note,
    stop: () => {},
  }
}
