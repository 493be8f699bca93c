import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'
import { say } from '../report.ts'
import { automationOn, type Caller, event, webhookTo } from '../sink.ts'

const BATCH = 50
const POLL_MS = 250
const EVENT = 'bench.go'
const PEOPLE = 2_000

/** What each event asks for: one delivery of an integration, and two runs with one webhook each. */
export const EFFECTS = 3

/** A receiver for each of the effects, by the path of its address. */
export async function receiveAt(call: Caller, address: string): Promise<void> {
  await webhookTo(call, `${address}/events`, [EVENT])
  for (const name of ['first', 'second']) {
    const integration_id = await webhookTo(call, `${address}/${name}`, [])
    await automationOn(call, EVENT, { type: 'webhook', integration_id })
  }
}

/** Repeats a request until it succeeds: a part may be away. A repeated event is stored once, by its id. */
export async function persist(call: Caller, ...request: Parameters<Caller>): Promise<void> {
  for (;;) {
    try {
      await call(...request)
      return
    } catch (error) {
      say(`again: ${error instanceof Error ? error.message.slice(0, 80) : error}`)
      await sleep(POLL_MS)
    }
  }
}

/**
 * Posts the events at an even pace. `passed`: called after each batch with the part of the load that has been posted, 0 to 1. `prefix`: of their ids;
 * a repeated id is no new event.
 */
export async function postEvenly(
  call: Caller,
  events: number,
  seconds: number,
  passed: (part: number) => void,
  prefix = 'go',
): Promise<void> {
  const began = performance.now()
  const batches = Math.ceil(events / BATCH)
  for (let n = 0; n < batches; n++) {
    const some = Array.from({ length: Math.min(BATCH, events - n * BATCH) }, (_, i) =>
      event(EVENT, `${prefix}-${n * BATCH + i}`, `person-${(n * BATCH + i) % PEOPLE}`),
    )
    await persist(call, 'POST', '/v4/events', { events: some })
    passed((n + 1) / batches)
    await sleep(Math.max(0, began + ((n + 1) * seconds * 1_000) / batches - performance.now()))
  }
}

/** Events that a consumer has not read, runs and deliveries that have not ended. */
async function outstanding(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select (select count(*) from due where kind in ('automation-run', 'delivery'))
       + (select coalesce(sum(l.next_offset - c.next_offset), 0) from log_consumers c join log_positions l using (environment, partition)) as n`,
  )
  return rows[0]!.n
}

export async function untilNothingIsOutstanding(pool: Pool): Promise<void> {
  while ((await outstanding(pool).catch(() => 1)) > 0) await sleep(POLL_MS)
}
