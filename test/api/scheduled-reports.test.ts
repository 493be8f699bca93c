import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { reportTo, type Shown, sandbox } from '../harness/reports.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

let api: TestApi
let box: ReturnType<typeof sandbox>
let webhooks: string
beforeAll(async () => {
  api = await startApi()
  box = sandbox(api)
  webhooks = await integration('webhooks')
})
afterAll(() => api.stop())

const integration = (slug: string, active: 0 | 1 | 2 = 1, environment = api.project.sandboxEnvironment) =>
  storedIntegration(api.pool, environment, { slug, active })
const entriesOf = async (id: string) => (await box.good('GET', `/v4/audit-log?filter[resource_id]=${id}`)).data
const put = (id: string, fields: Record<string, unknown> = {}) =>
  box.call('PUT', `/v4/scheduled-reports/${id}`, reportTo([webhooks], fields))
const dueOf = async (id: string) => {
  const { rows } = await api.pool.query(
    `select d.due_at from due d join scheduled_reports r on r.number = d.id and d.kind = 'report-slot' where r.id = $1`,
    [id],
  )
  return rows.map(row => row.due_at)
}
const fieldsOf = (answer: { body: { error: { details?: { field: string }[] } } }) =>
  (answer.body.error.details ?? []).map(({ field }) => field).sort()

/** Without what time alone changes. */
const storedOf = ({ next_slot: _, last_run: __, ...stored }: Shown) => stored

describe('a report', () => {
  test('is created with defaults and has the labels of the list of destinations', async () => {
    const slack = await integration('slack', 0)
    const answer = await box.call('POST', '/v4/scheduled-reports', reportTo([slack, webhooks], { status: 'draft' }))
    const { id } = answer.body
    expect(id).toMatch(/^rep_[0-9a-z]{20}$/)
    expect([answer.status, answer.headers.get('location')]).toEqual([201, `/v4/scheduled-reports/${id}`])
    expect(answer.body).toEqual({
      object: 'scheduled_report',
      id,
      url: `/v4/scheduled-reports/${id}`,
      report_name: 'Daily events',
      send_at: '09:00',
      included_range_days: 1,
      status: 'draft',
      environment: 'sandbox',
      destinations: [
        { type: 'target_integration', id: slack, label: 'Slack: slack' },
        { type: 'target_integration', id: webhooks, label: 'Webhooks: webhooks' },
      ],
      runs: 0,
      created_at: expect.any(String),
      updated_at: answer.body.created_at,
      timezone: 'UTC',
      cadence: 'daily',
      weekday: null,
      day_of_month: null,
      missed: 'once',
      on_dst_gap: 'shift',
      on_dst_overlap: 'first',
      format: 'csv',
      formula_guard: true,
      type: 'events',
      include: [],
      charts: [],
      view_id: null,
      next_slot: null,
      last_run: null,
    })
    expect((await box.call('GET', answer.body.url)).body).toEqual(answer.body)
    expect(await dueOf(id)).toEqual([])
    expect(await entriesOf(id)).toMatchObject([
      { operation: 'v4CreateScheduledReport', resource: 'scheduled_report', after: storedOf(answer.body) },
    ])
  })

  test('that is active has its first slot, after now', async () => {
    const made = await box.create([webhooks], { timezone: 'Asia/Kathmandu', cadence: 'weekly', weekday: 'friday', send_at: '23:30' })
    const [due] = await dueOf(made.id)
    expect(due).toMatch(/T17:45:00Z$/)
    expect(new Date(due).getUTCDay()).toBe(5)
    const ahead = Date.parse(due) - Date.parse(made.created_at)
    expect(ahead > 0 && ahead <= 7 * 86_400_000).toBe(true)
  })

  test('that is monthly may cover a whole month', async () => {
    const { id } = await box.create([webhooks], {
      timezone: 'America/New_York',
      cadence: 'monthly',
      day_of_month: 1,
      included_range_days: 31,
    })
    const { rows } = await api.pool.query('select next_slot, next_from from scheduled_reports where id = $1', [id])
    const hours = (Date.parse(rows[0].next_slot) - Date.parse(rows[0].next_from)) / 3_600_000
    expect([31 * 24 - 1, 31 * 24, 31 * 24 + 1]).toContain(hours)
  })

  test.each<[string, Record<string, unknown>, string[]]>([
    ['a zone that is none', { timezone: 'Europe/Nowhere' }, ['timezone']],
    ['an offset for a zone', { timezone: '+01:00' }, ['timezone']],
    ['weekly without weekday', { cadence: 'weekly' }, ['weekday']],
    ['a weekday for daily', { weekday: 'monday' }, ['weekday']],
    ['monthly without day', { cadence: 'monthly' }, ['day_of_month']],
    ['monthly by a weekday', { cadence: 'monthly', weekday: 'monday' }, ['day_of_month', 'weekday']],
    ['the other environment', { environment: 'production', timezone: 'x' }, ['environment', 'timezone']],
    ['a quarter of an hour', { send_at: '09:15' }, ['send_at']],
    ['two days', { included_range_days: 2 }, ['included_range_days']],
    ['a month of every week', { cadence: 'weekly', weekday: 'monday', included_range_days: 31 }, ['included_range_days']],
    ['32 days', { cadence: 'monthly', day_of_month: 1, included_range_days: 32 }, ['included_range_days']],
    ['day 32', { cadence: 'monthly', day_of_month: 32 }, ['day_of_month']],
    ['no destination', { destinations: [] }, ['destinations']],
    ['a read-only field', { runs: 1 }, ['runs']],
    ['a name too long', { report_name: 'x'.repeat(256) }, ['report_name']],
  ])('is refused with %s', async (_what, fields, wanted) => {
    const { id } = await box.create([webhooks])
    for (const answer of [await box.call('POST', '/v4/scheduled-reports', reportTo([webhooks], fields)), await put(id, fields)])
      expect([answer.status, fieldsOf(answer)]).toEqual([400, wanted])
  })

  test('names each destination once, and only integrations that can be one', async () => {
    const twice = await box.call('POST', '/v4/scheduled-reports', reportTo([webhooks, webhooks]))
    expect([twice.status, fieldsOf(twice)]).toEqual([400, ['destinations[1].id']])
    const deleted = await integration('webhooks')
    await api.pool.query('update integrations set deleted_at = now() where id = $1', [deleted])
    const foreign = await integration('webhooks', 1, api.project.production)
    for (const id of ['int_nowhere', await integration('amplitude'), deleted, foreign]) {
      const answer = await box.call('POST', '/v4/scheduled-reports', reportTo([webhooks, id]))
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
      expect(answer.body.error.message).toContain('destinations[1].id')
    }
  })

  test('does not take an e-mail integration without recipients', async () => {
    const { id, url } = await box.create([webhooks])
    const email = (settings: object) => storedIntegration(api.pool, api.project.sandboxEnvironment, { slug: 'email', settings })
    for (const settings of [{}, { recipients: null }, { recipients: [] }]) {
      const destinations = [webhooks, await email(settings)]
      const answers = [
        await box.call('POST', '/v4/scheduled-reports', reportTo(destinations, { status: 'draft' })),
        await box.call('PUT', url, reportTo(destinations)),
      ]
      for (const { status, body } of answers) {
        expect([status, body.error.code, body.error.details[0].field]).toEqual([422, 'integration_not_configured', 'recipients'])
        expect(body.error.message).toContain(`destinations[1].id names the e-mail integration ${destinations[1]} (email)`)
      }
    }
    const addressed = await email({ recipients: ['ada@example.org'] })
    expect((await put(id)).status).toBe(200)
    expect((await box.call('PUT', url, reportTo([addressed]))).body.destinations).toHaveLength(1)
  })

  test('is replaced as a whole, and an unchanged one leaves no trace', async () => {
    const full = { cadence: 'monthly', day_of_month: 31, missed: 'all', on_dst_gap: 'skip', on_dst_overlap: 'both', format: 'parquet' }
    const { id } = await box.create([webhooks], full)
    await api.pool.query(`update scheduled_reports set updated_at = '2026-01-01' where id = $1`, [id])
    const same = await put(id, full)
    expect([same.status, same.body.updated_at]).toEqual([200, '2026-01-01T00:00:00Z'])
    expect(await entriesOf(id)).toHaveLength(1)
    const replaced = await put(id, { report_name: 'New' })
    expect(replaced.body).toMatchObject({ report_name: 'New', cadence: 'daily', day_of_month: null, missed: 'once', on_dst_gap: 'shift' })
    expect(replaced.body).toMatchObject({ on_dst_overlap: 'first', format: 'csv' })
    expect(replaced.body.updated_at).not.toBe('2026-01-01T00:00:00Z')
    const [entry] = await entriesOf(id)
    expect(entry).toMatchObject({ operation: 'v4UpdateScheduledReport', before: { cadence: 'monthly' }, after: storedOf(replaced.body) })
    expect((await put('rep_nowhere')).status).toBe(404)
  })

  test('has a due row only while it is active', async () => {
    const { id } = await box.create([webhooks])
    const first = await dueOf(id)
    expect(first).toHaveLength(1)
    await put(id, { status: 'draft' })
    expect(await dueOf(id)).toEqual([])
    await put(id)
    expect(await dueOf(id)).toEqual(first)
    expect((await box.call('DELETE', `/v4/scheduled-reports/${id}`)).status).toBe(204)
    expect(await dueOf(id)).toEqual([])
    for (const answer of [
      await box.call('GET', `/v4/scheduled-reports/${id}`),
      await put(id),
      await box.call('DELETE', `/v4/scheduled-reports/${id}`),
      await box.call('GET', `/v4/scheduled-reports/${id}/runs`),
      await box.call('POST', `/v4/scheduled-reports/${id}/send-test`),
    ])
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
    expect((await entriesOf(id))[0]).toMatchObject({ operation: 'v4DeleteScheduledReport', before: { id }, after: null })
  })

  test('stays consistent under concurrent deletions, changes and tests', async () => {
    const { id } = await box.create([webhooks])
    const answers = await Promise.all(
      Array.from({ length: 48 }, (_, n) => {
        if (n % 4 === 0) return put(id, { status: n % 8 === 0 ? 'draft' : 'active' })
        if (n % 4 === 1) return box.call('POST', `/v4/scheduled-reports/${id}/send-test`)
        return n === 2 ? box.call('DELETE', `/v4/scheduled-reports/${id}`) : box.call('GET', `/v4/scheduled-reports/${id}`)
      }),
    )
    expect(answers.filter(({ status }) => ![200, 202, 204, 404, 429].includes(status)).map(({ text }) => text)).toEqual([])
    expect(answers.filter(({ status }) => status === 202).length).toBeLessThanOrEqual(1)
    expect(await dueOf(id)).toEqual([])
  })
})

test('the list is newest first, by offset, without the deleted', async () => {
  const project = await api.newProject()
  const own = sandbox(api, project.sandbox)
  const target = await integration('slack', 1, project.sandboxEnvironment)
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.unshift((await own.create([target])).id)
  const gone = await own.create([target])
  await own.good('DELETE', gone.url)
  const page = await own.good('GET', '/v4/scheduled-reports?limit=3')
  expect([page.data.map(({ id }: { id: string }) => id), page.has_more, 'next_cursor' in page]).toEqual([ids.slice(0, 3), true, false])
  expect((await own.good('GET', '/v4/scheduled-reports?offset=3')).data).toEqual([await own.good('GET', `/v4/scheduled-reports/${ids[3]}`)])
  expect((await own.call('GET', '/v4/scheduled-reports?offset=100001')).status).toBe(400)
})

test('destinations are the integrations that receive files, by creation, in any state', async () => {
  const project = await api.newProject()
  const made: string[] = []
  for (const [n, slug] of ['amazon_s3', 'amplitude', 'google_cloud_storage', 'slack', 'webhooks'].entries())
    made.push(await integration(slug, (n % 3) as 0 | 1 | 2, project.sandboxEnvironment))
  for (const settings of [{ recipients: ['ada@example.org'] }, {}, { recipients: null }, { recipients: [] }])
    made.push(await storedIntegration(api.pool, project.sandboxEnvironment, { slug: 'email', settings }))
  await api.pool.query(`update integrations set title = $2 where id = $1`, [made[0], 'é'.repeat(255)])
  const list = await sandbox(api, project.sandbox).good('GET', '/v4/scheduled-reports/destinations')
  expect(list).toEqual({
    object: 'list',
    url: '/v4/scheduled-reports/destinations',
    data: [
      { type: 'target_integration', id: made[0], label: `Amazon S3: ${'é'.repeat(244)}` },
      { type: 'target_integration', id: made[2], label: 'Google Cloud Storage: google_cloud_storage' },
      { type: 'target_integration', id: made[3], label: 'Slack: slack' },
      { type: 'target_integration', id: made[4], label: 'Webhooks: webhooks' },
      { type: 'target_integration', id: made[5], label: 'E-mail (SMTP): email' },
    ],
    has_more: false,
  })
})

describe('a test', () => {
  test('can be sent once a minute of real time, of a draft, too', async () => {
    const { id } = await box.create([webhooks], { status: 'draft', included_range_days: 3 })
    const sent = await box.call('POST', `/v4/scheduled-reports/${id}/send-test`)
    expect([sent.status, sent.body, sent.headers.get('location')]).toEqual([
      202,
      {
        object: 'operation',
        url: `/v4/scheduled-reports/${id}/runs`,
        message: 'Test report queued for delivery',
        run_id: expect.any(String),
      },
      `/v4/scheduled-reports/${id}/runs`,
    ])
    const again = await box.call('POST', `/v4/scheduled-reports/${id}/send-test`)
    expect([again.status, again.body.error.code]).toEqual([429, 'rate_limit_exceeded'])
    const wait = Number(again.headers.get('retry-after'))
    expect(wait >= 55 && wait <= 60).toBe(true)
    const [run, ...rest] = await box.runsOf(id)
    expect(rest).toEqual([])
    expect(run).toMatchObject({ kind: 'test', slot: null, status: 'pending', outcome: null, late_by_seconds: 0, report_id: id })
    expect(Date.parse(run.window_to) - Date.parse(run.window_from)).toBe(3 * 86_400_000)
    expect(run.destinations).toEqual([
      {
        ...{ id: webhooks, label: 'Webhooks: webhooks', status: 'pending', reason: null, attempts: 0 },
        ...{ error: null, next_attempt_at: null, delivered_at: null },
      },
    ])
    expect(await entriesOf(run.id)).toMatchObject([
      { operation: 'v4SendTestScheduledReport', resource: 'scheduled_report_run', after: run },
    ])
    await api.pool.query(`update scheduled_reports set tested_at = tested_at - interval '61 seconds' where id = $1`, [id])
    const second = await box.call('POST', `/v4/scheduled-reports/${id}/send-test`)
    expect(second.status).toBe(202)
    const only = async (query: string) =>
      (await box.good('GET', `/v4/scheduled-reports/${id}/runs?${query}`)).data.map((one: { id: string }) => one.id)
    expect(await box.runsOf(id)).toHaveLength(2)
    expect(await only(`filter[run_id]=${sent.body.run_id}`)).toEqual([run.id])
    expect(await only(`filter[run_id]=${second.body.run_id}`)).toEqual([second.body.run_id])
    expect(await only(`filter[run_id]=${run.id}&filter[outcome][]=failed`)).toEqual([])
    expect(await only('filter[run_id]=run_nowhere')).toEqual([])
    expect((await box.good('GET', `/v4/scheduled-reports/${id}`)).runs).toBe(0)
  })

  test('by 20 concurrent requests is created once', async () => {
    const { id } = await box.create([webhooks])
    const answers = await Promise.all(Array.from({ length: 20 }, () => box.call('POST', `/v4/scheduled-reports/${id}/send-test`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 19 }, () => 429)])
    expect(await box.runsOf(id)).toHaveLength(1)
  })
})
