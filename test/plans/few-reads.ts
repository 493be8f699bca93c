// A table has no statistics from its first import until its first analyze, and a crash of the server puts that off. Every statement of the
// service must read about as many rows without statistics as with them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { TestServer } from '../harness/database.ts'
import { driveAll } from '../harness/drive-all.ts'
import { explainAll } from '../harness/explained.ts'
import { fillEnvironment } from '../harness/full-environment.ts'
import { ROOT } from '../house/sources.ts'

/** Who reads the indexes that the drive does not need: notifications of stores, what is wrong or has waited for long, operators and assistants. */
const READ_BY: Record<string, string> = {
  mcp_grants_by_client: 'domain/operators/grants/clients.ts',
  mcp_tokens_by_grant: 'domain/operators/mcp-calls/retention.ts',
  audit_log_by_actor: 'domain/kernel/audit/list.ts',
  audit_log_of_project_by_actor: 'domain/kernel/audit/list.ts',
  apple_ads_updates_by_age: 'domain/integrations/apple-ads/update-records.ts',
  apple_ads_updates_of_entity: 'domain/integrations/apple-ads/update-records.ts',
  alerts_told: 'domain/oversight/alerts/alert.ts',
  deliveries_exhausted: 'domain/oversight/reconciliation/broken.ts',
  deliveries_by_replay: 'domain/integrations/deliveries/list.ts',
  deliveries_given_up: 'domain/oversight/alerts/conditions.ts',
  event_blocks_by_number: 'domain/events/blocks.ts',
  experiment_assignments_pinned: 'domain/growth/experiments/people.ts',
  exports_failed: 'domain/oversight/alerts/conditions.ts',
  exports_overdue: 'domain/oversight/reconciliation/drift.ts',
  integrations_in_error: 'domain/integrations/deliveries/held.ts',
  mcp_calls_by_project: 'domain/operators/mcp-calls/record.ts',
  mcp_calls_by_user: 'domain/operators/mcp-calls/record.ts',
  mcp_grants_by_operator: 'domain/operators/grants/grant.ts',
  operator_guesses_by_time: 'domain/operators/guesses.ts',
  operator_passkeys_by_operator: 'domain/operators/passkeys/passkey.ts',
  operator_provider_uses_by_end: 'domain/operators/provider-sign-in.ts',
  operator_sessions_by_end: 'domain/operators/session.ts',
  operator_sessions_by_operator: 'domain/operators/session.ts',
  operator_spent_challenges_by_time: 'domain/operators/passkeys/challenge.ts',
  report_runs_failed: 'domain/reporting/reports/failed-runs.ts',
  set_aside_events_open: 'domain/oversight/alerts/conditions.ts',
  store_acknowledgements_by_lineage: 'domain/purchases/acknowledgement.ts',
  store_acknowledgements_due: 'domain/oversight/alerts/conditions.ts',
  store_acknowledgements_open: 'domain/purchases/store-inbox/figures.ts',
  store_inbox_by_lane: 'domain/purchases/store-inbox/pending.ts',
  store_inbox_pushes: 'domain/purchases/store-inbox/push-missing.ts',
  store_inbox_set_aside: 'domain/purchases/store-inbox/status.ts',
  store_inbox_swept: 'domain/purchases/store-inbox/push-missing.ts',
  store_inbox_waiting: 'domain/purchases/store-inbox/status.ts',
  store_sweeps_due: 'domain/purchases/store-inbox/sweeps.ts',
  unsuccessful_runs_failed_lately: 'domain/oversight/reconciliation/broken.ts',
  users_by_recording: 'domain/reporting/exports/parts.ts',
}

/** Rows that a statement may read beyond three times those of its analyzed plan: a whole table of a catalogue, but no other. */
const SLACK = 1_200

export function testReads(server: TestServer): void {
  let api: TestApi
  let explained: Awaited<ReturnType<typeof explainAll>>
  beforeAll(async () => {
    api = await startApi({
      server,
      worker: true,
      leaseMs: 30_000,
      beforeConnecting: async pool => (explained = await explainAll(pool, server)),
    })
    await fillEnvironment(api.pool, api.project.sandboxEnvironment)
  }, 120_000)
  afterAll(async () => {
    await api.stop()
    explained.stop()
  })

  test('every statement reads as few rows without statistics as with them', { timeout: 600_000 }, async () => {
    explained.taken()
    await driveAll(api)
    const without = explained.taken()
    await api.pool.query('analyze')
    explained.taken()
    await driveAll(api)
    const analyzed = explained.taken()
    // Otherwise the two drives did not do the same, and nothing is compared.
    expect([...without.keys()].filter(text => analyzed.has(text)).length).toBeGreaterThan(400)
    const analyzedRows = (text: string) => analyzed.get(text)?.rows.rows ?? 0
    const bad = [...without.values()].filter(({ rows }) => rows.rows > 3 * analyzedRows(rows.text) + SLACK)
    expect(bad.map(({ rows: { text, rows, plan } }) => `${text}\n${rows} rows, analyzed ${analyzedRows(text)}\n${plan}`)).toEqual([])
  })
  test('every index is read, or keeps rows unique', async () => {
    for (const sort of [
      'since',
      'status',
      'last_payment_at',
      'purchase_currency',
      'payments_count',
      'net_payments_usd',
      'purchase_product_id',
    ])
      for (const order of ['asc', 'desc']) await page(`sort_by=${sort}&sort_order=${order}`)
    await page('filter[status][]=active&filter[status][]=canceled')
    await page('search=p1234')
    const { rows } = await api.pool.query<{ name: string; table: string }>(
      `select c.relname as name, i.indrelid::regclass::text as table from pg_index i join pg_class c on c.oid = i.indexrelid
       where c.relnamespace = 'public'::regnamespace and c.relkind = 'i' and not i.indisunique`,
    )
    const unread = rows.filter(({ name }) => !explained.indexes.has(name))
    expect(unread.map(({ name }) => name).filter(name => !(name in READ_BY))).toEqual([])
    const readers = unread.map(({ name, table }) => ({ name, table, text: readFileSync(join(ROOT, READ_BY[name]!), 'utf8') }))
    expect(readers.filter(({ table, text }) => !text.includes(table)).map(({ name }) => name)).toEqual([])
    expect(Object.keys(READ_BY).filter(name => !rows.some(row => row.name === name))).toEqual([])
  })

  const page = async (query: string) =>
    expect((await api.call('GET', `/v4/customers?${query}`, { key: api.project.sandbox })).status).toBe(200)
}
