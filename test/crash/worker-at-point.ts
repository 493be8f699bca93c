import { writeSync } from 'node:fs'
import { readConfig } from '../../app/config.ts'
import { logger } from '../../app/logger.ts'
import { startPerennial } from '../../app/start.ts'
import { FROZEN } from '../harness/process.ts'

/** The file that waits for the transaction, or for the step. */
const caller = () =>
  /(?:domain|workers|workflows|app)\/[\w/-]+\.ts:\d+/.exec(new Error().stack!.split('\n').slice(4).join('\n'))?.[0] ?? 'a batch'

// The product's worker, which sends itself CRASH_SIGNAL when it comes to CRASH_POINT for the CRASH_AFTER-th time: SIGKILL by default, or
// SIGSTOP. Before that it writes the line `FROZEN`.
let left = Number(process.env.CRASH_AFTER)
const signal = process.env.CRASH_SIGNAL ?? 'SIGKILL'
const config = readConfig(process.env)
await startPerennial(config, logger(config.logLevel), {
  at: point => {
    if (point !== process.env.CRASH_POINT || --left !== 0) return
    writeSync(1, `${FROZEN} ${point} of ${caller()}\n`)
    process.kill(process.pid, signal)
  },
})
console.log(`Perennial ${config.role} is ready.`)
