// DBOS Transact: workflows of three recorded steps. Arguments: database, workflows a round. Each line on stdin starts a round. A round prints
// one JSON line for each setting, and one at its end.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { DBOS } from '@dbos-inc/dbos-sdk'
import pg from 'pg'

const [url, count] = [process.argv[2], Number(process.argv[3])]
let done = 0
const three = DBOS.registerWorkflow(
  async i => {
    const a = await DBOS.runStep(async () => i + 1, { name: 's1' })
    const b = await DBOS.runStep(async () => a + 1, { name: 's2' })
    const c = await DBOS.runStep(async () => b + 1, { name: 's3' })
    done++
    return c
  },
  { name: 'three' },
)
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: 'error', applicationVersion: '1' })
await DBOS.launch()
await DBOS.registerQueue('fast', { minPollingIntervalMs: 20 })
await sleep(2_500)
const probe = new pg.Client({ connectionString: url })
await probe.connect()
const open = async () => (await probe.query(`select 1 from dbos.workflow_status where status <> 'SUCCESS' limit 1`)).rowCount

async function inParallel(atOnce, work) {
  let next = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < count) await work(next++)
    }),
  )
}

const SETTINGS = {
  '32 in flight': () => inParallel(32, async i => (await DBOS.startWorkflow(three)(i)).getResult()),
  '128 in flight': () => inParallel(128, async i => (await DBOS.startWorkflow(three)(i)).getResult()),
  'queue, polled every 20 ms': async () => {
    await inParallel(64, i => DBOS.startWorkflow(three, { queueName: 'fast' })(i))
    while (done < count) await sleep(5)
    while (await open()) await sleep(10)
  },
}
const manifest = import.meta.resolve('@dbos-inc/dbos-sdk').replace(/(node_modules\/@dbos-inc\/dbos-sdk\/).*/, '$1package.json')
const { version } = JSON.parse(readFileSync(new URL(manifest)))
console.log(JSON.stringify({ version }))
for await (const _ of createInterface(process.stdin)) {
  for (const [setting, measure] of Object.entries(SETTINGS)) {
    done = 0
    const began = performance.now()
    await measure()
    console.log(JSON.stringify({ setting, rate: (count * 1000) / (performance.now() - began) }))
  }
  console.log(JSON.stringify({ round: 'over' }))
}
