import process from 'node:process'
import { Presets, SingleBar } from 'cli-progress'

export type ByteProgress = {
  /** `done` of `total`, in bytes. */
  update(done: number, total: number): void
  /** Prints a line that the bar does not overwrite. */
  say(line: string): void
  stop(): void
}

const LINE_EVERY_MS = 30_000
const megabytes = (bytes: number) => `${Math.round(bytes / 1e6).toLocaleString('en-US')} MB`

/** A bar on a terminal, otherwise a line every 30 s: a large backup takes hours, and its log is read by somebody who waits. */
export function byteProgress(what: string, note: (line: string) => void): ByteProgress {
  return process.stderr.isTTY ? bar(what, note) : lines(what, note)
}

function bar(what: string, note: (line: string) => void): ByteProgress {
  const format = `${what} {bar} {percentage} % | {shown} | {eta_formatted} left`
  const shown = new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true }, Presets.shades_classic)
  shown.start(1, 0, { shown: megabytes(0) })
  return {
    update(done, total) {
      shown.setTotal(Math.max(1, total))
      shown.update(done, { shown: megabytes(done) })
    },
    say: line => note(`\r\x1b[K${line}`),
    stop: () => shown.stop(),
  }
}

function lines(what: string, note: (line: string) => void): ByteProgress {
  let shownAt = performance.now()
  return {
    update(done, total) {
      if (performance.now() - shownAt < LINE_EVERY_MS) return
      shownAt = performance.now()
      note(`${what}: ${Math.floor((done / Math.max(1, total)) * 100)} % | ${megabytes(done)}`)
    },
    say: note,
    stop: () => {},
  }
}

/** The same for pieces whose sizes add up to `total`. */
export function addedProgress(what: string, total: number, note: (line: string) => void) {
  const progress = byteProgress(what, note)
  let done = 0
  return {
    onBytes(bytes: number) {
      done += bytes
      progress.update(done, total)
    },
    stop: () => progress.stop(),
  }
}
