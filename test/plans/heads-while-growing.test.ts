// Whether an open delivery is ahead of a new one is looked up by its user, in whatever state the tables were when the connection planned the statement.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertDeliveries } from '../../domain/integrations/deliveries/insert.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

describe.each(SERVERS)('on the %s Postgres', server => {
  let api: TestApi
  const connected: Pool[] = []
  beforeAll(async () => {
    api = await startApi({ server })
  })
  afterAll(async () => {
    await Promise.all(connected.map(pool => pool.end()))
    await api.stop()
  })

  let sent = 0
  async function deliver(pool: Pool, integration: number, count: number): Promise<void> {
    const deliveries = Array.from({ length: count }, () => {
      const n = sent++
      return {
        integration,
        event_id: `${n}`,
        event_name: 'opened',
        user_id: `QON_${String(n).padStart(32, '0')}`,
        partition: n % 64,
        log_offset: n,
      }
    })
    await transaction(pool, tx => insertDeliveries(tx, api.project.production, deliveries, null))
  }
  const end = () =>
    api.pool.query(`with ended as (update deliveries set status = 'delivered', ended_at = clock_timestamp() returning number)
                    delete from due where kind = 'delivery' and id in (select number from ended)`)

  function worker(): Pool {
    const pool = connect({ url: api.databaseUrl, max: 1, planOnce: true, pipelined: true })
    connected.push(pool)
    return pool
  }

  // Without an analyze, which makes every connection plan anew.
  test('reads no delivery of another user', async () => {
    await api.pool.query('alter table deliveries set (autovacuum_enabled = false)')
    const id = await storedIntegration(api.pool, api.project.production, { slug: 'webhooks', active: 1 })
    const { rows } = await api.pool.query<{ number: number }>('select number from integrations where id = $1', [id])
    const integration = rows[0]!.number
    const workers = new Map<string, Pool>()
    const plan = async (state: string) => {
      const pool = worker()
      await deliver(pool, integration, 1)
      workers.set(state, pool)
    }
    await plan('empty')
    await plan('first rows')
    // Until then one index has a page and the other has more, so that the wrong one costs less.
    for (let n = 1; n <= 8; n++) {
      await deliver(worker(), integration, 40)
      await plan(`${n * 40} open`)
    }
    await end()
    await plan('all ended')
    await deliver(worker(), integration, 3_000)
    await end()
    const read: [string, number][] = []
    for (const [state, pool] of workers) {
      const before = await rowsRead([pool], ['deliveries'])
      await deliver(pool, integration, 20)
      const after = await rowsRead([pool], ['deliveries'])
      read.push([state, after.deliveries! - before.deliveries!])
    }
    expect(read).toEqual([...workers.keys()].map(state => [state, expect.toSatisfy(n => n <= 100)]))
  })
})
