// A delivery that is sent and recorded by statements that were planned while their tables had their first rows.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAutomationDeliveries } from '../../domain/integrations/deliveries/create.ts'
import { insertDeliveries } from '../../domain/integrations/deliveries/insert.ts'
import { loadDeliveries } from '../../domain/integrations/deliveries/load.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

describe.each(SERVERS)('on the %s Postgres', server => {
  let api: TestApi
  let planned: Pool
  beforeAll(async () => {
    api = await startApi({ server })
    planned = connect({ url: api.databaseUrl, max: 1, planOnce: true, pipelined: true })
  })
  afterAll(async () => {
    await planned.end()
    await api.stop()
  })

  const TABLES = ['events', 'users', 'deliveries', 'automation_runs']

  type Logged = { id: string; user_id: string; partition: number; log_offset: number }

  async function log(count: number): Promise<Logged[]> {
    const before = (await api.pool.query('select id from events')).rows.map(({ id }) => id)
    for (let sent = 0; sent < count; sent += 500) {
      const events = Array.from({ length: Math.min(500, count - sent) }, (_, n) => ({
        event_name: 'opened',
        event_id: `${before.length + sent + n}`,
        identity_id: `person-${before.length + sent + n}`,
        happened_at: '2026-03-01T00:00:00Z',
      }))
      const { status, text } = await api.call('POST', '/v4/events', { key: api.project.secret, body: { events } })
      expect(status, text).toBeLessThan(300)
    }
    return (await api.pool.query<Logged>('select id, user_id, partition, log_offset from events where id <> all ($1::text[])', [before]))
      .rows
  }

  test('reads the rows of its event, user and run alone', async () => {
    for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    const { production: environment } = api.project
    const id = await storedIntegration(api.pool, environment, { slug: 'webhooks', active: 1 })
    const { rows } = await api.pool.query<{ number: number }>('select number from integrations where id = $1', [id])
    const integration = rows[0]!.number
    const deliver = (events: Logged[]) =>
      transaction(planned, async tx => {
        await insertDeliveries(
          tx,
          environment,
          events.map(event => ({ ...event, integration, event_id: event.id, event_name: 'opened' })),
          null,
        )
        const wanted = events.map(event => ({
          integrationId: id,
          stepId: 'hook',
          run: { ...event, id: `run_${event.id}`, automation_id: 'auto', version: 1, event_id: event.id, event_name: 'opened' },
        }))
        await createAutomationDeliveries(tx, environment, wanted, null)
      })
    const numbers = async (events: Logged[]) =>
      (
        await api.pool.query<{ number: number }>('select number from deliveries where event_id = any ($1::text[])', [
          events.map(event => event.id),
        ])
      ).rows.map(({ number }) => number)
    const first = await log(1)
    await deliver(first)
    expect(await loadDeliveries(planned, await numbers(first))).toHaveLength(2)
    const many = await log(2_000)
    await deliver(many)
    const ten = many.slice(0, 10)
    const wanted = await numbers(ten)
    const before = await rowsRead([planned], TABLES)
    expect((await loadDeliveries(planned, wanted)).filter(delivery => delivery !== null)).toHaveLength(20)
    const after = await rowsRead([planned], TABLES)
    expect(TABLES.map(table => [table, after[table]! - before[table]!])).toEqual(
      TABLES.map(table => [table, expect.toSatisfy(n => n <= 60)]),
    )
  })
})
