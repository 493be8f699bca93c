import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endAlert, raiseAlerts, refusedCredentials } from '../../../domain/purchases/store-inbox/alerts.ts'
import { failExport } from '../../../domain/reporting/exports/finish.ts'
import { transaction } from '../../../store/transaction.ts'
import type { TestProjectKeys } from '../../harness/api.ts'
import { receiver } from '../../harness/receiver.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'
import { type AlertsFixture, alertsOf, reportsIn, settled, startAlerts, webhookTo } from './fixture.ts'

let alerts: AlertsFixture
beforeAll(async () => {
  alerts = await startAlerts()
})
afterAll(() => alerts.stop())

/** Makes everything wrong at once; gives the alerts that are to begin, and what makes it right again. */
async function breakAll({ id: project, production: environment }: TestProjectKeys) {
  const sql = (text: string, ...values: unknown[]) => alerts.api.pool.query(text, [environment, ...values])
  const holding = await storedIntegration(alerts.api.pool, environment, { slug: 'webhooks' })
  const losing = await storedIntegration(alerts.api.pool, environment, { slug: 'slack' })
  await alerts.inError(environment, holding)
  await sql(`update integrations set held_since = now() - interval '20 minutes' where environment = $1 and id = $2`, holding)
  const delivery = (id: string, status: string, reason: string | null, minutes: number) =>
    sql(
      `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, reason, created_at, ended_at)
       select $1, $2 || number, number, 'event', $2, 'x', 0, 0, $3, $4, now() - make_interval(mins => $5), case when $3 = 'failed' then now() end
       from integrations where environment = $1 and id = $2`,
      ...[id, status, reason, minutes],
    )
  await delivery(holding, 'pending', null, 19)
  await delivery(losing, 'failed', 'exhausted', 1)
  for (const outcome of ['failed', 'withheld']) {
    await sql(
      `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence, missed,
         on_dst_gap, on_dst_overlap, format, next_slot, created_at, updated_at)
       values ($1, $2, 'Sales', '09:00', 1, 'active', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', now() + interval '9 days', now(), now())`,
      `rep_${outcome}_${environment}`,
    )
    await run(`rep_${outcome}_${environment}`, outcome, 2)
  }
  function run(report: string, outcome: string, minutesAgo: number) {
    return sql(
      `insert into report_runs (environment, id, report_id, kind, slot, status, outcome, reason, created_at, finished_at)
       select $1, $2 || $4, $2, 'scheduled', t, 'finished', $3, 'destination_failed', t, t from (select now() - make_interval(mins => $4::int) as t) t`,
      ...[report, outcome, minutesAgo],
    )
  }
  await sql(
    `insert into exports (environment, id, status, type, format, compression, from_timestamp, to_timestamp, window_from, window_to, from_offsets,
       to_offsets, created_at) values ($1, $2, 'processing', 'events', 'csv', 'none', now(), now(), now(), now(), '{}', '{}', now())`,
    `exp_${environment}`,
  )
  await transaction(alerts.api.pool, tx =>
    failExport(tx, environment, `exp_${environment}`, { code: 'storage_error', message: 'the disk is full' }),
  )
  await raiseAlerts(alerts.api.pool, [refusedCredentials(project, 'apple', null)])
  await alerts.api.pool.query(
    `with lane as (insert into store_lanes (project, platform, name) values ($1, 'google', 'token') returning id)
     insert into store_inbox (project, platform, lane, notification_id, type, stated_at, body, source, state, reason)
     select $1, 'google', id, 'n', '4', 0, '', 'push', 'set_aside', 'unreadable' from lane`,
    [project],
  )
  await sql(
    `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error) values ('automations', $1, 0, 0, 'evt', 'a poison event')`,
  )
  return {
    expected: [
      `integration_error ${holding}`,
      `integration_held ${holding}`,
      `deliveries_exhausted ${losing}`,
      `report_failed rep_failed_${environment}`,
      `report_withheld rep_withheld_${environment}`,
      'export_failed production',
      'store_alert apple',
      'store_notifications_set_aside google',
      'events_set_aside automations',
    ],
    async repair() {
      await alerts.repaired(environment, holding)
      await sql(`update deliveries set ended_at = now() - interval '25 hours' where environment = $1 and status = 'failed'`)
      await run(`rep_failed_${environment}`, 'delivered', 1)
      await run(`rep_withheld_${environment}`, 'empty', 1)
      await sql(`update exports set failed_at = now() - interval '25 hours' where environment = $1`)
      await endAlert(alerts.api.pool, { project, platform: 'apple', environment: null, alert: 'store_credentials' })
      await alerts.api.pool.query(`update store_inbox set state = 'done' where project = $1`, [project])
      await sql('update set_aside_events set replayed_at = now() where environment = $1')
    },
  }
}

test('every kind of alert begins and ends, and each is sent once, signed', async () => {
  const { keys, call, sandbox } = await alerts.newProject()
  const received = await receiver()
  const { generated_signing_secret: secret } = await webhookTo(call, received)
  const other = await receiver()
  await webhookTo(sandbox, other)
  const { expected, repair } = await breakAll(keys)
  await Promise.all([alerts.scan(), alerts.scan(), alerts.scan()])
  await alerts.scan()
  await settled(call)
  expect(reportsIn(received).sort()).toEqual(expected.map(alert => `alert.began ${alert}`).sort())
  for (const { text, headers } of received.events()) new Webhook(secret).verify(text, headers as Record<string, string>)
  const open = await alertsOf(call, '&filter[status]=open')
  expect(open.map(({ kind, holder }) => `${kind} ${holder.id}`).sort()).toEqual([...expected].sort())
  expect(open.find(({ kind }) => kind === 'export_failed')).toMatchObject({ detail: 'the disk is full', count: 1, ended_at: null })
  expect(open.find(({ kind }) => kind === 'store_alert')).toMatchObject({
    about: 'store_credentials',
    message: 'The App Store does not accept the credentials of the project',
    messages: [{ phase: 'began', status: 'sent', attempts: 1, error: null }],
  })
  await repair()
  await alerts.scan()
  await alerts.scan()
  await settled(call)
  expect(reportsIn(received).slice(expected.length).sort()).toEqual(expected.map(alert => `alert.ended ${alert}`).sort())
  expect(await alertsOf(call, '&filter[status]=open')).toEqual([])
  expect((await alertsOf(call, '&filter[kind][]=export_failed')).map(({ status }) => status)).toEqual(['ended'])
  expect(new Set(received.events().map(({ headers }) => headers['webhook-id'])).size).toBe(2 * expected.length)
  // Neither the other environment of the project nor another project has any of it.
  expect([other.received, await alertsOf(sandbox)]).toEqual([[], []])
  await Promise.all([received.close(), other.close()])
})
