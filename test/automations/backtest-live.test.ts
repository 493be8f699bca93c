// The figures of a backtest equal those of the same automation in operation.
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
  fixture = await automationProject(api)
})
afterAll(() => api.stop())

const purchases = { initiators: on('16'), steps: LONG }
const AUTOMATIONS: object[] = [
  purchases,
  { ...purchases, reentry: false },
  { ...purchases, platform: 'iOS' },
  { ...purchases, segments: 'active_trials' },
  { ...purchases, segments: 'never_paid' },
  { ...purchases, frequency: { max_runs_per_user: 1, per: 'hour' } },
  { ...purchases, frequency: { max_runs_per_user: 3, per: 'lifetime' } },
  { ...purchases, reentry: false, frequency: { max_runs_per_user: 1, per: 'lifetime' } },
]

/** The figures of an automation's real runs. */
async function figuresOfRuns(automation: string) {
  const { rows } = await api.pool.query<{ status: string; reason: string | null; count: number }>(
    'select status, reason, count(*)::int from automation_runs where automation_id = $1 group by 1, 2',
    [automation],
  )
  const users = await api.pool.query<{ count: number }>(
    `select count(distinct user_id)::int from automation_runs where automation_id = $1 and status <> 'skipped'`,
    [automation],
  )
  const skipped = { no_user: 0, automation_paused: 0, platform_mismatch: 0, segment_mismatch: 0, already_running: 0, frequency_capped: 0 }
  let runs_started = 0
  for (const { status, reason, count } of rows)
    if (status === 'skipped') skipped[reason as keyof typeof skipped] = count
    else runs_started += count
  const events = rows.reduce((sum, { count }) => sum + count, 0)
  return { events, runs_started, users: users.rows[0]!.count, skipped }
}

test('a backtest of a thousand purchases equals the real runs of each automation', async () => {
  const automations = await Promise.all(AUTOMATIONS.map(data => fixture.create('/v4/automations', { name: 'A', status: 'active', data })))
  const from = new Date(Date.now() - 60_000).toISOString()
  const [, ...orders] = (await readFile('examples/cdnow.csv', 'utf8')).trim().split(/\r?\n/)
  await fixture.post(
    orders.map(order => {
      const [identity_id, date, , price] = order.split(',')
      return { event_name: 'in_app_purchase', identity_id, happened_at: `${date}T12:00:00Z`, price, currency: 'USD' }
    }),
  )
  await fixture.read()
  const to = new Date(Date.now() + 60_000).toISOString()
  for (const [n, { url, id }] of automations.entries()) {
    const { status, body } = await fixture.call('POST', `${url}/backtest`, { body: { from, to } })
    expect(status).toBe(200)
    const { object: _, url: _url, from: _from, to: _to, steps, ...figures } = body
    const expected = await figuresOfRuns(id)
    expect([n, expected.events]).toEqual([n, 1000])
    expect([n, figures]).toEqual([n, expected])
    expect(steps).toEqual({ long: expected.runs_started })
  }
})
