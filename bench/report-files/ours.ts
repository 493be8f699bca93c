import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'
import { processorSeconds } from '../path/cpu.ts'
import { serverPid } from '../path/server-pid.ts'
import { startProduct } from '../product.ts'
import { say, thousands } from '../report.ts'
import type { Resources } from '../resources.ts'
import { slotsAhead } from './seed.ts'

/** From the start of the worker to the slots, so that the worker is idle by then. */
const LEAD_SECONDS = 10
const POLL_MS = 250

export type Receiver = { url: string; ids: Set<string>; requests(): number }

/** Counts requests and the ids that they carry. */
export async function startReceiver(resources: Resources): Promise<Receiver> {
  const ids = new Set<string>()
  let requests = 0
  const server = createServer((request, response) => {
    requests++
    ids.add(String(request.headers['webhook-id']))
    request.resume().on('end', () => response.end('ok'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  resources.undo(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ids, requests: () => requests }
}

/** Seconds after the slots: `started`: until the last run had started; `delivered`: until the last file was. Processor time of one report in milliseconds. */
export type Round = { started: number; delivered: number; node: number; postgres: number }

type Setting = { database: string; reports: number; env: Record<string, string> }

const FINISHED = `
  select count(*) filter (where status = 'finished')::int as ended, count(distinct (report_id, slot))::int as slots, count(*)::int as runs,
    count(*) filter (where outcome = 'delivered' and rows > 0)::int as delivered, max(late_by_seconds) as late
  from report_runs where slot > $1`

/** One worker process makes and delivers the files of all reports, whose slots fall due at one moment. Throws unless each slot ran, and arrived, once. */
export async function ourRound(resources: Resources, pool: Pool, { database, reports, env }: Setting, receiver: Receiver): Promise<Round> {
  const { rows } = await pool.query<{ last: string }>(`select coalesce(max(slot), '-infinity')::text as last from report_runs`)
  const worker = await startProduct(resources, database, 'worker', { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'warn', ...env })
  const postgres = await serverPid(resources)
  const seconds = async () => ({
    node: await processorSeconds([worker.pid]),
    postgres: postgres === null ? 0 : await processorSeconds([postgres]),
  })
  receiver.ids.clear()
  await slotsAhead(pool, LEAD_SECONDS)
  const before = await seconds()
  const began = performance.now() + LEAD_SECONDS * 1000
  for (;;) {
    await sleep(POLL_MS)
    // The question is not for free: it is asked when the last file may be recorded.
    if (receiver.ids.size < reports) continue
    const found = (await pool.query<Record<'ended' | 'slots' | 'runs' | 'delivered' | 'late', number>>(FINISHED, [rows[0]!.last])).rows[0]!
    if (found.ended < reports) continue
    const delivered = (performance.now() - began) / 1000
    const after = await seconds()
    if ([found.slots, found.runs, found.delivered, receiver.ids.size].some(count => count !== reports))
      throw new Error(`not every slot ran once: ${JSON.stringify(found)}, ${receiver.ids.size} files announced to the receiver`)
    await worker.stop()
    const each = (key: 'node' | 'postgres') => ((after[key] - before[key]) * 1000) / reports
    const round = { started: found.late, delivered, node: each('node'), postgres: each('postgres') }
    say(
      `  last start ${round.started} s, ${thousands(reports)} files after ${delivered.toFixed(1)} s, ${round.node.toFixed(2)} + ${round.postgres.toFixed(2)} ms`,
    )
    return round
  }
}
