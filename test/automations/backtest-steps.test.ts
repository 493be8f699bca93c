// A backtest simulates runs exactly as workers execute them: the same automations, executed with their waits and simulated afterwards.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { until } from '../harness/until.ts'
import { type AutomationProject, automationProject, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi({ worker: true })
  fixture = await automationProject(api)
})
afterAll(() => api.stop())

const mark = (id: string) => ({ id, type: 'set_property', key: id, value: 'yes' })
const exit = (id: string) => ({ id, type: 'exit' })
const wait = (id: string, event: string, timeout: string, on_timeout: object[] = []) => ({
  id,
  type: 'wait_for_event',
  event,
  timeout,
  on_timeout,
})
const eq = (metric: string, value: string) => ({ metric, comparator: 'eq', value })

const AUTOMATIONS = [
  { steps: [wait('back', 'back', 'P2D', [mark('late'), wait('again', 'back', 'P1D')]), mark('end')] },
  { steps: [wait('back', 'back', 'P2D', [mark('late')]), mark('end')], reentry: false },
  {
    steps: [{ id: 'pause', type: 'delay', duration: 'P1D' }, wait('go-again', 'go', 'P3D', [exit('gone')]), mark('returned')],
    reentry: false,
  },
  {
    steps: [
      wait('back', 'back', 'P1D'),
      {
        id: 'which',
        type: 'branch',
        conditions: [eq('step:back', 'event'), eq('event:platform', 'iOS')],
        then: [mark('both')],
        else: [exit('no')],
      },
      { id: 'morning', type: 'wait_until', time: '09:30', timezone: 'Asia/Kathmandu' },
      mark('up'),
    ],
    frequency: { max_runs_per_user: 2, per: 'week' },
  },
]

/** Waits until the log is read to its end and no job is due. */
const idle = () =>
  until('an idle environment', async () => {
    const { rows } = await api.pool.query<{ open: number }>(
      `select (select count(*) from log_consumers c join log_positions l on l.environment = c.environment and l.partition = c.partition
                where c.environment = $1 and c.consumer = 'automations' and c.next_offset < l.next_offset)::int
            + (select count(*) from due where environment = $1 and due_at <= environment_now($1))::int as open`,
      [fixture.environment],
    )
    return rows[0]!.open === 0 ? true : undefined
  })

async function figuresOfRuns(automation: string) {
  const count = async (text: string) => (await api.pool.query<{ name: string; count: number }>(text, [automation])).rows
  const runs = await count(
    `select coalesce(reason, '') as name, count(*)::int from automation_runs where automation_id = $1 and status = 'skipped' group by 1`,
  )
  const started = await count(
    `select 'started' as name, count(*)::int from automation_runs where automation_id = $1 and status <> 'skipped'`,
  )
  const steps = await count(
    `select step_id as name, count(*)::int from automation_steps where run in (select number from automation_runs where automation_id = $1) group by 1`,
  )
  const failed = await count(
    `select reason as name, count(*)::int from automation_runs where automation_id = $1 and status = 'failed' group by 1`,
  )
  const byName = (rows: { name: string; count: number }[]) => Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  return { skipped: byName(runs), runs_started: started[0]!.count, steps: byName(steps), failed }
}
const nonZero = (counts: Record<string, number>) => Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))

test('a backtest of two weeks of events, waits, branches and re-entries equals the real runs', { timeout: 120_000 }, async () => {
  const users = await Promise.all([fixture.user(), fixture.user(), fixture.user()])
  const automations = await Promise.all(AUTOMATIONS.map(data => fixture.automation({ initiators: on('go'), ...data })))
  const from = '2026-01-01T00:00:00Z'
  // Hours from one event to the next. No sum of neighbours is one, two or three days, so that no event falls on the end of a wait.
  const story: [hours: number, event: string, user: number][] = [
    [0, 'go', 0],
    [0, 'go', 1],
    [5, 'back', 0],
    [0, 'go', 2],
    [14, 'go', 0],
    [11, 'back', 1],
    [13, 'go', 2],
    [0, 'back', 2],
    [10, 'go', 1],
    [29, 'go', 1],
    [7, 'back', 0],
    [0, 'back', 1],
    [31, 'go', 0],
    [0, 'go', 2],
    [26, 'back', 2],
    [9, 'go', 0],
    [50, 'back', 0],
    [23, 'go', 1],
    [4, 'back', 1],
    [37, 'go', 2],
    [0, 'go', 0],
    [0, 'back', 0],
    [16, 'other', 0],
  ]
  for (const [hours, event_name, user] of story) {
    if (hours > 0) {
      // The clock moves in steps, and each step executes all jobs that are due by then.
      const { status, text } = await fixture.call('POST', '/v4/test-clock/advance', { body: { by: `PT${hours}H` } })
      expect([status, text.slice(0, 300)]).toEqual([200, text.slice(0, 300)])
      await idle()
    }
    await fixture.post([
      { event_name, customer_uid: users[user], platform: user === 1 ? 'Android' : 'iOS', happened_at: '2026-03-01T12:00:00Z' },
    ])
    await idle()
  }
  const { rows } = await api.pool.query<{ to: string }>('select environment_now($1) as to', [fixture.environment])
  // The window may have 366 days. It ends with the last event of the story.
  const to = rows[0]!.to
  for (const [n, { id, url }] of automations.entries()) {
    const { status, body } = await fixture.call('POST', `${url}/backtest`, { body: { from, to } })
    expect(status).toBe(200)
    const { failed, ...expected } = await figuresOfRuns(id)
    expect(failed).toEqual([])
    expect([n, { skipped: nonZero(body.skipped), runs_started: body.runs_started, steps: nonZero(body.steps) }]).toEqual([n, expected])
  }
})
