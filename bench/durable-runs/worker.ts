// A worker process of the product that executes only automation runs. Arguments: database, Redis ('' = pg-boss).
import { pino } from 'pino'
import { connect } from '../../store/connect.ts'
import { bullmqQueue } from '../../workers/bullmq.ts'
import { pgBossQueue } from '../../workers/pg-boss.ts'
import { startWorker } from '../../workers/worker.ts'
import { automationHandler } from '../../workflows/automation/handler.ts'

const [url = '', redis = ''] = process.argv.slice(2)
const unexpected = () => Promise.reject(new Error('no effect was expected'))
const pool = connect({ url })
const planned = connect({ url, planOnce: true, pipelined: true })
const recording = connect({ url, planOnce: true, hashJoins: true })
const log = pino({ level: 'warn' })
const onError = (error: unknown) => log.error({ err: error })
const queue = redis === '' ? await pgBossQueue({ url, onError }) : await bullmqQueue({ redis: { is: 'one', url: redis }, onError })
const handlers = [automationHandler({ pool, planned, recording, effects: { sendEmail: unexpected, sendPush: unexpected } })]
const worker = await startWorker({ pool: planned, url, queue, handlers: handlers, log })
process.once('SIGTERM', async () => {
  const { user, system } = process.cpuUsage()
  console.log(`cpu ${((user + system) / 1e6).toFixed(1)} s`)
  await worker.stop()
  await pool.end()
  await recording.end()
  await planned.end()
  process.exit(0)
})
console.log('worker is ready')
