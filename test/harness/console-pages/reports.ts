import type { TestApi } from '../api.ts'
import { storedIntegration } from '../stored-integration.ts'
import type { Told } from './tell.ts'
import { HOSTILE, iso, LONGEST } from './texts.ts'

/** Reports with every outcome, to destinations with hostile names, and an export. */
export async function tellReports(api: TestApi): Promise<Pick<Told, 'report' | 'reportRun' | 'file'>> {
  const environment = api.project.production
  const ids: string[] = []
  for (const _ of HOSTILE) ids.push(await storedIntegration(api.pool, environment, { slug: 'webhooks' }))
  await api.pool.query('update integrations i set title = t.title from unnest($1::text[], $2::text[]) t(id, title) where i.id = t.id', [
    ids,
    HOSTILE,
  ])
  const destinations = ids.map(id => ({ type: 'target_integration', id }))
  const given = {
    send_at: '02:30',
    included_range_days: 1,
    status: 'active',
    environment: 'production',
    timezone: 'Europe/Berlin',
    destinations,
  }
  let report = ''
  for (const report_name of [...HOSTILE, 'w'.repeat(255)])
    report = (await api.call('POST', '/v4/scheduled-reports', { body: { ...given, report_name } })).body.id
  await api.pool.query(
    `insert into report_runs (environment, id, report_id, kind, slot, window_from, window_to, status, outcome, reason, rows, created_at, started_at, finished_at,
       late_by_seconds, destinations)
     select $1, 'rrn_' || o.n, $2, 'scheduled', t.at, t.at - interval '1 day', t.at, 'finished', o.outcome, o.reason, 1000000, t.at, t.at, t.at, 4000,
       (select jsonb_agg(d - 'type' || jsonb_build_object('status', 'failed', 'reason', 'exhausted', 'attempts', 7, 'error', $3::text, 'next_attempt_at', null, 'delivered_at', null))
        from scheduled_reports r, jsonb_array_elements(r.destinations) d where r.id = $2)
     from unnest(array['delivered', 'empty', 'withheld', 'skipped', 'failed'], array[null, null, 'destination_inactive', 'dst_gap', 'destination_failed'])
       with ordinality o(outcome, reason, n), lateral (select date_trunc('second', now()) - (6 - o.n) * interval '1 day' as at) t`,
    [environment, report, LONGEST],
  )
  const body = { from_timestamp: iso(-30), to_timestamp: iso(0), include: ['event_id', 'properties'] }
  const { id: file } = (await api.call('POST', '/v4/exports', { body })).body
  return { report, reportRun: 'rrn_5', file }
}
