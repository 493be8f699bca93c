import { readConfig } from '../../app/config.ts'
import { logger } from '../../app/logger.ts'
import { startPerennial } from '../../app/start.ts'

// The product's worker, which dies as by kill -9 when it comes to CRASH_POINT for the CRASH_AFTER-th time.
let left = Number(process.env.CRASH_AFTER)
const config = readConfig(process.env)
await startPerennial(config, logger(config.logLevel), {
  at: point => {
    if (point === process.env.CRASH_POINT && --left === 0) process.kill(process.pid, 'SIGKILL')
  },
})
console.log(`Perennial ${config.role} is ready.`)
