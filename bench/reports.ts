import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createReport } from '../domain/reports/create.ts'
import type { Pool } from '../store/connect.ts'
import { orderedId } from '../store/ids.ts'
import { transaction } from '../store/transaction.ts'
import { durability, newDatabase } from './database.ts'
import { createTenants, openPool, startProduct, type Tenant } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { seedEvents, seedUsers } from './seed.ts'

const TENANTS = 100
const USERS = 1_000
const EVENTS = 100_000
const PUNCTUAL_SECONDS = 60
/** From the start of the worker to the slots, so that the worker is idle by then. */
const LEAD_SECONDS = 20

/** Reports of many projects whose slots are due at the same moment; each sends its file to a webhook on this machine. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const reports = option('reports', 10_000)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database)
    const tenants = await createTenants(pool, Math.min(TENANTS, reports))
    const environments = tenants.map(({ environment }) => environment)
    await seedUsers(pool, environments, USERS)
    await seedEvents(pool, USERS, 0, EVENTS)
    const sink = await startSink(resources)
    await seedReports(pool, tenants, sink.url, reports)
    await startProduct(resources, database, 'worker', { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'warn' })
    await pool.query(
      `update environments e set clock_offset = s.slot - clock_timestamp() - make_interval(secs => $1)
       from (select environment, min(next_slot) as slot from scheduled_reports group by environment) s where e.id = s.environment`,
      [LEAD_SECONDS],
    )
    const began = performance.now()
    for (let ended = 0; ended < reports; ) {
      await sleep(2_000)
      ended = (await pool.query<{ n: number }>(`select count(*)::int as n from report_runs where status = 'finished'`)).rows[0]!.n
      say(`  ${thousands(ended)} of ${thousands(reports)} runs have ended`)
    }
    const seconds = (performance.now() - began) / 1000 - LEAD_SECONDS
    const { rows } = await pool.query<{ runs: number; slots: number; delivered: number; late: number }>(
      `select count(*)::int as runs, count(distinct (report_id, slot))::int as slots,
         count(*) filter (where outcome in ('delivered', 'empty'))::int as delivered, max(late_by_seconds) as late from report_runs`,
    )
    const found = rows[0]!
    if (found.runs !== reports || found.slots !== reports || found.delivered !== reports || sink.ids.size !== reports)
      throw new Error(`not every slot ran once: ${JSON.stringify(found)}, ${sink.ids.size} files announced to the receiver`)
    console.log(`${thousands(reports)} slots of ${tenants.length} projects at one moment, one worker; ${await durability(database)}`)
    table(
      ['', 'seconds'],
      [
        ['last run started after its slot', String(found.late)],
        ['last file delivered after its slot', round(seconds, 1).toString()],
      ],
    )
    const ratio = round(found.late / PUNCTUAL_SECONDS, 2)
    return {
      name: 'reports',
      ours: found.late,
      peer: PUNCTUAL_SECONDS,
      ratio,
      unit: 's',
      slots: reports,
      repeats: sink.requests() - reports,
    }
  })

async function startSink(resources: Resources): Promise<{ url: string; ids: Set<string>; requests: () => number }> {
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

async function seedReports(pool: Pool, tenants: Tenant[], url: string, count: number): Promise<void> {
  // The half hour after next, so that no slot is due before the worker is up.
  const at = new Date(Math.ceil(Date.now() / 1_800_000) * 1_800_000 + 1_800_000)
  const schedule = {
    timezone: 'UTC',
    cadence: 'daily',
    weekday: null,
    day_of_month: null,
    on_dst_gap: 'shift',
    on_dst_overlap: 'first',
  } as const
  for (const [n, { environment }] of tenants.entries()) {
    const id = orderedId('int')
    await pool.query(
      `insert into integrations (environment, id, slug, title, target_platform, active, settings, created_at, updated_at)
       values ($1, $2, 'webhooks', 'Sink', 'iOS', 1, $3, now(), now())`,
      [environment, id, JSON.stringify({ url, sandbox_url: url })],
    )
    const own = Math.floor(((n + 1) * count) / tenants.length) - Math.floor((n * count) / tenants.length)
    await transaction(pool, async tx => {
      for (let i = 0; i < own; i++) {
        const settings = { report_name: `Report ${i}`, included_range_days: 7, status: 'active', missed: 'once', format: 'csv' } as const
        const input = { ...schedule, ...settings, type: 'events' as const, include: [], send_at: at.toISOString().slice(11, 16) }
        await createReport(tx, environment, { input, destinationIds: [id], faults: [] })
      }
    })
  }
}
