// The rows behind the numbers of the ledger: the pages of each state have what the ledger counts, and no job is on two of them.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_KINDS, type LedgerKind } from '../../domain/durable/ledger-history/history.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { deliveryRow, exportRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'
import { namedKey } from '../harness/named-keys.ts'

let api: TestApi
let project: Awaited<ReturnType<TestApi['newProject']>>
let key: string
let environment: number
beforeAll(async () => {
  api = await startApi()
  project = await api.newProject()
  key = project.secret
  environment = project.production
  await fill()
})
afterAll(() => api.stop())

const MINUTE = 60_000
const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE).toISOString()

async function fill(): Promise<void> {
  const { pool } = api
  const active = await integrationRow(pool, environment, 1)
  const inError = await integrationRow(pool, environment, 2)
  await pool.query(
    `insert into automations (environment, id, name, caption, status, version, created_at, updated_at) values ($1, 'auto_a', 'Welcome', '', 'active', 1, now(), now())`,
    [environment],
  )
  // Two at one time, so that a page ends between rows of one time.
  for (const at of [ago(90), ago(30), ago(30)]) {
    for (const [status, reason] of [
      ['delivered', null],
      ['failed', 'exhausted'],
      ['failed', 'run_cancelled'],
      ['pending', null],
    ] as const)
      await deliveryRow(pool, environment, { at, status, reason, integration: active, dueAt: status === 'pending' ? ago(5) : null })
    await deliveryRow(pool, environment, { at, status: 'retrying', integration: inError })
    for (const [status, reason] of [
      ['succeeded', null],
      ['failed', 'email_failed'],
      ['cancelled', 'cancelled_by_api'],
      ['skipped', 'no_user'],
      ['waiting', null],
    ] as const) {
      const { id, number } = await runRow(pool, environment, { at, status, reason, dueAt: status === 'waiting' ? ago(2) : null })
      if (status === 'failed' || status === 'cancelled')
        await pool.query('insert into unsuccessful_runs values ($1, $2, $3, $4, $5, $6)', [environment, 'auto_a', status, at, id, number])
    }
    await exportRow(pool, environment, { at, status: 'done' })
    await exportRow(pool, environment, { at, status: 'failed', reason: 'storage_error' })
    await exportRow(pool, environment, { at, status: 'processing' })
    await exportRow(pool, environment, { at, status: 'done', reportRun: 'rrn_1' })
    for (const [status, reason] of [
      ['delivered', null],
      ['withheld', 'report_paused'],
      ['skipped', 'dst_gap'],
      ['failed', 'destination_failed'],
      ['running', null],
    ] as const)
      await slotRow(pool, environment, { at, status, reason })
  }
  // Two slots that no worker has taken, and rows that retention has removed.
  const slot = `${ago(2 * 60).slice(0, 16)}:00Z`
  await pool.query(
    `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence,
       missed, on_dst_gap, on_dst_overlap, format, next_slot, created_at, updated_at)
     values ($1, 'rep_untaken', 'Daily', $2, 1, 'active', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', $3::timestamptz - interval '1 day', now(), now())`,
    [environment, slot.slice(11, 16), slot],
  )
  await pool.query(
    `insert into ledger_history values ($1, 'deliveries', date_trunc('second', now() - interval '1 hour'), 'failed', 'exhausted', 4)`,
    [environment],
  )
}

type Row = {
  id: string | null
  state: string
  at: string
  outcome: string | null
  reason: string | null
  url: string | null
  parent: { id: string } | null
}
const WINDOW = `from=${encodeURIComponent(ago(2 * 24 * 60))}`

/** All pages of two rows; how many more are removed. */
async function walk(kind: LedgerKind, state: string, more = ''): Promise<{ rows: Row[]; removed: number }> {
  const rows: Row[] = []
  for (let cursor = ''; ; ) {
    const { status, body, text } = await api.call('GET', `/v4/ledger/rows?kind=${kind}&state=${state}&limit=2&${WINDOW}${more}${cursor}`, {
      key,
    })
    expect(status, text).toBe(200)
    rows.push(...body.data)
    if (!body.has_more) return { rows, removed: body.removed }
    cursor = `&starting_after=${body.next_cursor}`
  }
}

const identity = ({ id, at, parent }: Row) => id ?? `${parent!.id} ${at}`

test.each(LEDGER_KINDS)('%s: each number of the ledger has its rows', async kind => {
  const { body } = await api.call('GET', `/v4/ledger?kind=${kind}&${WINDOW}`, { key })
  const [entry] = body.data
  expect(entry.promised).toBeGreaterThan(5)
  for (const state of ['kept', 'declined', 'broken', 'outstanding', 'overdue', ...(kind === 'deliveries' ? ['held'] : [])]) {
    const { rows, removed } = await walk(kind, state)
    expect(rows.length + removed, `${kind} ${state}`).toBe(entry[state])
    expect(new Set(rows.map(identity)).size, state).toBe(rows.length)
    const times = rows.map(({ at }) => at)
    expect(times, state).toEqual(state === 'overdue' ? times.toSorted() : times.toSorted().reverse())
    for (const row of rows) expect(row.outcome === null, state).toBe(['outstanding', 'overdue', 'held'].includes(state))
  }
  const { rows } = await walk(kind, 'overdue')
  expect(rows[0]).toMatchObject({ at: entry.oldest_overdue_at, id: entry.oldest_overdue_id })
  for (const [reason, count] of Object.entries(entry.reasons)) {
    const found = await Promise.all(['declined', 'broken'].map(state => walk(kind, state, `&reason=${reason}`)))
    expect(found.flatMap(one => one.rows).length + Math.max(...found.map(one => one.removed)), reason).toBe(count)
  }
})

test('a row names what it belongs to, and a slot that no worker has taken has no id', async () => {
  const { rows } = await walk('report_slots', 'overdue')
  expect(rows.filter(({ id }) => id === null).map(({ url, parent }) => [url, parent])).toEqual(
    Array(2).fill([null, { kind: 'scheduled_report', id: 'rep_untaken', name: 'Daily', url: '/v4/scheduled-reports/rep_untaken' }]),
  )
  const [delivery] = (await walk('deliveries', 'broken')).rows
  expect(delivery).toMatchObject({ outcome: 'failed', reason: 'exhausted', parent: { kind: 'integration', name: 'Hook' } })
  expect(delivery!.url).toBe(`/v4/integrations/${delivery!.parent!.id}/deliveries/${delivery!.id}`)
})

test('more rows than one page reads are found in further pages, also behind many of another state', async () => {
  const { secret, production } = await api.newProject()
  const integration = await integrationRow(api.pool, production, 0)
  const insert = (status: string, count: number, minutes: number) =>
    api.pool.query(
      `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, created_at)
       select $1, 'dlv_' || $4::text || n, $2, 'event', $4::text || n, 'opened', 0, 0, $3, $5::timestamptz + make_interval(secs => n / 2_000) from generate_series(1, $6::int) n`,
      [production, integration, status, `${status}${minutes}`, ago(minutes), count],
    )
  await insert('delivered', 3, 300)
  // Within two seconds, and with ids in another order than their numbers: several processes make them.
  await insert('pending', 2_500, 200)
  const found = async (state: string) => {
    const ids = new Set<string>()
    let [cursor, pages] = ['', 0]
    for (; ; pages++) {
      const { body } = await api.call('GET', `/v4/ledger/rows?kind=deliveries&state=${state}&limit=100${cursor}`, { key: secret })
      for (const { id } of body.data) ids.add(id)
      if (!body.has_more) return { found: ids.size, pages }
      cursor = `&starting_after=${body.next_cursor}`
    }
  }
  expect((await found('held')).found).toBe(2_500)
  const kept = await found('kept')
  expect(kept.found).toBe(3)
  // Of 2,500 others a page reads 1,000 at most.
  expect(kept.pages).toBeLessThanOrEqual(3)
})

test('a key sees names and customers of the resources that its scopes name', async () => {
  const { key: own } = await namedKey(api, project, ['automations:read', 'ledger:read'])
  const parents = async (kind: string) => {
    const { body } = await api.call('GET', `/v4/ledger/rows?kind=${kind}&state=kept`, { key: own })
    return body.data.map(({ parent }: { parent: { name: string | null } }) => parent.name)
  }
  expect(await parents('deliveries')).toEqual([null, null, null])
  expect(await parents('automation_runs')).toEqual(['Welcome', 'Welcome', 'Welcome'])
})

test.each([
  ['kind=exports', 'state'],
  ['state=kept', 'kind'],
  ['kind=exports&state=held', 'state'],
  ['kind=exports&state=kept&from=2020-01-01T00:00:00Z', 'from'],
  ['kind=exports&state=kept&limit=0', 'limit'],
])('400 on its field: %s', async (query, field) => {
  const { status, body } = await api.call('GET', `/v4/ledger/rows?${query}`, { key })
  expect(status).toBe(400)
  expect(body.error.details[0].field).toBe(field)
})

test('a cursor of another list gives the first page', async () => {
  const { headers, body } = await api.call('GET', '/v4/ledger/rows?kind=exports&state=kept&starting_after=exp_1', { key })
  expect(headers.get('x-qon-pagination-restarted')).toBe('true')
  expect(body.data.length).toBe(3)
})

test('health counts what is late in this environment alone, of all time', async () => {
  const figures = async (secret: string) => {
    const { body } = await api.call('GET', '/v4/health', { key: secret })
    const by = Object.fromEntries(body.data.map((one: { figure: string }) => [one.figure, one])) as Record<
      string,
      { oldest_seconds: number | null }
    >
    return { status: body.status as string, by }
  }
  const health = await figures(key)
  const { body } = await api.call('GET', `/v4/ledger?${WINDOW}`, { key })
  const overdue = Object.fromEntries(body.data.map((entry: { kind: string; overdue: number }) => [entry.kind, entry.overdue]))
  expect(health.status).toBe('degraded')
  expect(health.by.overdue).toMatchObject({ is_degraded: true, parts: overdue })
  expect(health.by.held).toMatchObject({ count: 3, is_degraded: true })
  expect(health.by.failed_report_runs).toMatchObject({ count: 0 })
  const other = await figures((await api.newProject()).secret)
  expect(other).toMatchObject({ status: 'ok', by: { overdue: { count: 0, oldest_seconds: null, is_degraded: false, parts: {} } } })
  // The slot of two days ago, less the seconds that were cut off.
  expect(health.by.overdue!.oldest_seconds).toBeGreaterThan(24 * 3_600)
})
