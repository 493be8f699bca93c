import { readConfig } from './config.ts'
import { operatorLine } from './exit-line.ts'
import { removeFirstKeys } from './first-keys.ts'
import { greeting } from './greeting.ts'
import { logger } from './logger.ts'
import { retiredNotes } from './retired-settings.ts'
import { type Perennial, startPerennial } from './start.ts'

/** Two signals within this time are one request to stop. */
const SAME_MS = 1_000

const PARENT_MS = 500

/** npm forwards SIGINT and SIGTERM. Any other signal that ends npm shows only in the loss of the parent process. */
function onEndOfNpm(stop: () => void): void {
  if (!/^start(:|$)/.test(process.env.npm_lifecycle_event ?? '')) return
  const npm = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === npm) return
    clearInterval(watch)
    stop()
  }, PARENT_MS)
  watch.unref()
}

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const log = logger(config.logLevel, { isPretty: process.stdout.isTTY, isTraced: config.traces !== undefined })
  for (const note of retiredNotes(process.env)) log.warn(note)
  const stopped = new AbortController()
  let signalledAt = 0
  let perennial: Perennial | undefined
  const stop = (signal: string) => {
    // A second request to stop ends the process at once. Leases expire by themselves. One Ctrl-C may arrive twice: from the terminal, which
    // signals all its processes, and from npm, which forwards the signal.
    if (stopped.signal.aborted && performance.now() - signalledAt > SAME_MS) process.exit(130)
    if (stopped.signal.aborted) return
    signalledAt = performance.now()
    stopped.abort()
    log.info({ signal }, 'stopping')
    // SIGTERM is sent by what replaces the process; who presses Ctrl-C wants it to end.
    void perennial?.stop({ drains: signal === 'SIGTERM' }).then(() => finish(0))
  }
  const finish = (code: number) => {
    log.flush(() => process.exit(code))
    // Where nobody reads the output, the flush does not end.
    setTimeout(() => process.exit(code), SAME_MS)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal))
  onEndOfNpm(() => stopped.signal.aborted || stop('npm has ended'))
  // Output that is not a terminal is often kept: keys do not belong there.
  const showKeys = process.stdout.isTTY && config.role !== 'worker' && config.role !== 'analytics'
  try {
    perennial = await startPerennial(config, log, { showKeys, signal: stopped.signal })
  } catch (error) {
    // The signal has ended the wait for a migration.
    if (stopped.signal.aborted && (error as Error).name === 'AbortError') return finish(0)
    throw error
  }
  // The signal came during the start.
  if (stopped.signal.aborted) return void perennial.stop().then(() => finish(0))
  const isShown = perennial.keys !== null
  process.stdout.write(`${greeting(perennial, config).join('\n')}\n`, error => {
    if (isShown && !error) void removeFirstKeys(config.dataDir)
  })
}

main().catch(error => {
  const line = operatorLine(error)
  console.error(line === undefined ? error : `perennial: ${line}`)
  process.exit(1)
})
