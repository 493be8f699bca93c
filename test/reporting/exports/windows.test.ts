import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cutWindow } from '../../../domain/events/window.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { item } from '../../harness/events.ts'
import { exportAll } from '../../harness/exports.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 50 })
})
afterAll(() => api.stop())

const post = (events: unknown[]) => api.call('POST', '/v4/events', { body: { events } })
const idsOf = (text: string) => (parse(text, { columns: true }) as Record<string, string>[]).map(row => row['Transaction ID'])

test('adjoining windows that are cut under load share no row and lose none', async () => {
  let writing = true
  let n = 0
  const sent: string[] = []
  const writer = async () => {
    while (writing) {
      const batch = Array.from({ length: 7 }, () => {
        const id = `t-${n++}`
        sent.push(id)
        return item({
          event_name: 'custom',
          price: undefined,
          currency: undefined,
          identity_id: `u-${n % 50}`,
          transaction: { transaction_id: id },
        })
      })
      await post(batch)
    }
  }
  const writers = [writer(), writer(), writer()]
  const edges: string[] = ['1970-01-01T00:00:00Z']
  const cuts: { fromOffsets: number[]; toOffsets: number[] }[] = []
  for (let i = 0; i < 12; i++) {
    // The window ends now, to the microsecond: rows that are inserted at this moment must be on exactly one side.
    const cut = await transaction(api.pool, tx => cutWindow(tx, api.project.production, edges.at(-1)!, '9999-01-01T00:00:00Z'))
    cuts.push(cut)
    edges.push(cut.to)
  }
  writing = false
  await Promise.all(writers)
  cuts.push(await transaction(api.pool, tx => cutWindow(tx, api.project.production, edges.at(-1)!, '9999-01-01T00:00:00Z')))
  for (let i = 1; i < cuts.length; i++) expect(cuts[i]!.fromOffsets).toEqual(cuts[i - 1]!.toOffsets)
  expect(cuts.at(-1)!.toOffsets.reduce((a, b) => a + b)).toBe(sent.length)
  // The same windows again, when all rows are in the past: no row has moved.
  for (const [i, cut] of cuts.slice(0, -1).entries()) {
    const again = await transaction(api.pool, tx => cutWindow(tx, api.project.production, edges[i]!, edges[i + 1]!))
    expect(again.toOffsets).toEqual(cut.toOffsets)
  }
})

test('the cut of a window waits for a transaction that is still inserting, and does not lose its rows', async () => {
  const slow = await api.pool.connect()
  await slow.query('begin')
  await slow.query('update log_positions set next_offset = next_offset where environment = $1 and partition = 3', [
    api.project.sandboxEnvironment,
  ])
  let isCut = false
  const cut = transaction(api.pool, tx =>
    cutWindow(tx, api.project.sandboxEnvironment, '1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z'),
  ).then(window => {
    isCut = true
    return window
  })
  await slow.query(`select pg_sleep(0.05)`)
  expect(isCut).toBe(false)
  await slow.query(
    `with p as (update log_positions set next_offset = next_offset + 1, last_received_at = clock_timestamp()
       where environment = $1 and partition = 3 returning *)
     insert into events (environment, partition, log_offset, id, event_id, name, happened_at, received_at)
     select environment, partition, next_offset - 1, 'evt_slow', 'slow', 'x', now(), last_received_at from p`,
    [api.project.sandboxEnvironment],
  )
  await slow.query('commit')
  slow.release()
  expect((await cut).toOffsets[3]).toBe(1)
})

test('a clock set back puts no row behind an edge', async () => {
  const project = await api.newProject()
  const cut = await transaction(api.pool, tx => cutWindow(tx, project.production, '1970-01-01T00:00:00Z', '9999-01-01T00:00:00Z'))
  await api.pool.query(`update environments set clock_offset = interval '-1 hour' where id = $1`, [project.production])
  await api.call('POST', '/v4/events', { key: project.secret, body: { events: [item({ happened_at: '2026-01-01T00:00:00Z' })] } })
  const next = await transaction(api.pool, tx => cutWindow(tx, project.production, cut.to, '9999-01-01T00:00:00Z'))
  const { rows } = await api.pool.query('select received_at >= $2::timestamptz as after from events where environment = $1', [
    project.production,
    cut.to,
  ])
  expect([rows, next.fromOffsets]).toEqual([[{ after: true }], cut.toOffsets])
})

test('exports over adjoining windows contain every row once, in order of receipt', async () => {
  const project = await api.newProject()
  const key = project.secret
  const send = (from: number) =>
    api.call('POST', '/v4/events', {
      key,
      body: {
        events: Array.from({ length: 90 }, (_, i) => item({ identity_id: `w${i % 20}`, transaction: { transaction_id: `w-${from + i}` } })),
      },
    })
  await send(0)
  await send(90)
  // An edge in the middle of the log, between rows with the same time of receipt.
  const { rows } = await api.pool.query<{ edge: string }>(
    `select to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as edge from events where environment = $1 order by received_at offset 100 limit 1`,
    [project.production],
  )
  await api.pool.query(
    `update events set received_at = date_trunc('second', received_at) - interval '10 seconds' where environment = $1 and received_at < $2`,
    [project.production, rows[0]!.edge],
  )
  const edge = `${rows[0]!.edge.slice(0, 19)}Z`
  const before = await exportAll(api, { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: edge }, key)
  const after = await exportAll(api, { from_timestamp: edge, to_timestamp: '2026-12-31T00:00:00Z' }, key)
  expect(after.object.manifest.from_offsets).toEqual(before.object.manifest.to_offsets)
  const ids = [...idsOf(before.text), ...idsOf(after.text)]
  expect([ids.length, new Set(ids).size]).toEqual([180, 180])
})
