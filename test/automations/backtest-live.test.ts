// A backtest gives the figures that the same automation has produced.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importCsv } from '../../cli/import/command.ts'
import { call, temporaryFolder } from '../cli/call.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Ground, ground, LONG, on } from './ground.ts'

let api: TestApi
let g: Ground
beforeAll(async () => {
  api = await startApi()
  g = await ground(api)
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

/** What has become of the events that an automation named. */
async function lived(automation: string) {
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

test('for a thousand purchases, imported while the automations were active', async () => {
  const automations = await Promise.all(AUTOMATIONS.map(data => g.made('/v4/automations', { name: 'A', status: 'active', data })))
  const from = new Date(Date.now() - 60_000).toISOString()
  const args = ['examples/cdnow.csv', '--map', 'examples/cdnow.json', '--key', g.project.sandbox, '--url', api.url]
  const { code } = await call(importCsv, args, { DATA_DIR: await temporaryFolder() })
  expect(code).toBe(0)
  await g.read()
  const to = new Date(Date.now() + 60_000).toISOString()
  for (const [n, { url, id }] of automations.entries()) {
    const { status, body } = await g.call('POST', `${url}/backtest`, { body: { from, to } })
    expect(status).toBe(200)
    const { object: _, url: _url, from: _from, to: _to, steps, ...figures } = body
    const expected = await lived(id)
    expect([n, expected.events]).toEqual([n, 1000])
    expect([n, figures]).toEqual([n, expected])
    expect(steps).toEqual({ long: expected.runs_started })
  }
})
