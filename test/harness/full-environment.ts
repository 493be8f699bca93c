// Fills an environment with rows of a long-used installation, none of which is due.
import type { Pool } from '../../store/connect.ts'

/** Rows of the tables that grow with use, for a test of what statements read. */
const USED_LONG = 20_000
const series = (count: number) => `generate_series(1, ${count}) n`
const AGO = `now() - interval '2 days' - n * interval '1 second'`

// $1: the environment. `series(grown)`: of the tables that grow with use.
const statements = (grown: number) => [
  `insert into users (environment, id, created_at, last_seen_at, identity_id, properties, status, last_payment_at, first_transaction_at,
     payments_count, purchase_currency, purchase_product_id, net_payments_usd, gross_payments_usd, platform)
   select $1, 'user_' || n, ${AGO}, ${AGO}, 'person_' || n, jsonb_build_object('_q_email', 'p' || n || '@example.org'),
     case when n % 5 > 0 then 'none' when n % 100 = 0 then 'billing_retry' else 'active' end, case when n % 5 = 0 then ${AGO} end,
     case when n % 5 = 0 then ${AGO} end, case when n % 5 = 0 then 1 + n % 3 else 0 end, case when n % 5 = 0 then 'USD' end,
     case when n % 5 = 0 then 'p' || n % 7 end, case when n % 5 = 0 then n % 9 else 0 end, case when n % 5 = 0 then n % 9 else 0 end, 'iOS'
   from ${series(grown)}`,
  `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at, platform, triggers)
   select $1, 70, n, 'evt_' || n, 'e_' || n, case n % 3 when 0 then 'quiet' when 1 then 'subscription_renewed' else 'trial_started' end,
     'user_' || n, ${AGO}, ${AGO}, 'iOS', false from ${series(grown)}`,
  `insert into lineages (environment, platform, lineage, user_id) select $1, 'app_store', 'lineage_' || n, 'user_' || n from ${series(grown)}`,
  // Of a thousand products: if all were of one, the analyzed plan of each question about a product would read every purchase.
  `insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
     purchased_at, expires_at, auto_renewing, created_at)
   select environment, id, user_id, platform, 'filler' || right(lineage, 3), lineage, true, 'USD', '1', 1, now() - interval '9 days', now() + interval '900 days',
     true, now() from lineages where environment = $1`,
  `insert into subscriptions (environment, user_id, platform, lineage, state_at, states, auto_renewing, ever_paid)
   select environment, user_id, platform, lineage, array[now() - interval '9 days'], array['active'], true, true from lineages where environment = $1`,
  `insert into due (kind, id, environment, due_at)
   select 'subscription', id, environment, now() + interval '900 days' from subscriptions where environment = $1`,
  `insert into purchase_attempts (environment, user_id, source, platform, transaction, reason, created_at, last_at, claim_hash)
   select $1, 'user_' || n, 'v3', 'app_store', 'transaction_' || n, 'store_says_no', ${AGO}, ${AGO}, n::text::bytea from ${series(grown)}`,
  `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, user_id)
   select e.project, e.id, 'aud_' || n, ${AGO}, 'key', 'v4UpdateUser', 'user', 'user_' || n, 'user_' || n
   from environments e, ${series(grown)} where e.id = $1`,
  `insert into idempotent_answers (environment, operation, key, request_hash, status, body, user_id)
   select $1, 'v4CreateUser', 'key_' || n, 'x', 201, '{}', 'user_' || n from ${series(grown)}`,
  `insert into products (environment, id, type, duration, apple_product_id, created_at, updated_at)
   select $1, 'filler_' || n, 'subscription', 'P1M', 'com.filler.' || n, ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into entitlements (environment, id, created_at, updated_at) select $1, 'filler_' || n, ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into entitlement_products (environment, entitlement_id, position, product_id)
   select $1, 'filler_' || n, 0, 'filler_' || n from ${series(2_000)}`,
  `insert into grants (environment, user_id, entitlement_id, starts_at)
   select $1, 'user_' || n, 'filler_' || 1 + n % 2000, ${AGO} from ${series(grown)}`,
  `insert into offerings (environment, id, created_at, updated_at) select $1, 'filler_' || n, ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into offering_products (environment, offering_id, position, product_id)
   select $1, 'filler_' || n, 0, 'filler_' || n from ${series(2_000)}`,
  `insert into screens (environment, id, name, created_at, updated_at)
   select $1, 'filler_' || n, 'Screen', ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into segments (environment, id, name, conditions, created_at, updated_at)
   select $1, 'seg_' || n, 'Segment', '[]', ${AGO}, ${AGO} from ${series(2_000)}`,
  `update segments set is_listed = true where environment = $1`,
  `insert into segment_members (environment, segment_id, user_id)
   select $1, 'seg_' || 1 + n % 2000, 'user_' || n from ${series(grown)}`,
  `insert into analytics_views (environment, id, name, kind, query, range, pinned, created_at, updated_at)
   select $1, 'view_' || n, 'View', 'ltv', '{}', '"today"', false, ${AGO}, ${AGO} from ${series(400)}`,
  `insert into analytics_annotations (environment, id, noted_at, kind, text, created_at)
   select $1, 'ann_' || n, date_trunc('second', ${AGO}), 'other', 'Text', ${AGO} from ${series(2_000)}`,
  `insert into remote_configurations (environment, id, name, segment_percent, segmentation_conditions, created_at, updated_at)
   select $1, 'rcf_' || n, 'Configuration', 100, '[]', ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into configuration_pins (environment, user_id, config_id, pinned_at)
   select $1, 'user_' || n, 'rcf_' || 1 + n % 2000, ${AGO} from ${series(grown)}`,
  `insert into experiments (environment, id, name, alias_id, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
   select $1, 'exp_' || n, 'Experiment', 'alias_' || n, '', false, '[]', ${AGO}, ${AGO} from ${series(1_000)}`,
  `insert into experiment_groups (environment, id, experiment_id, is_control, weight, created_at, updated_at)
   select $1, 'grp_' || n, 'exp_' || n, true, 1, ${AGO}, ${AGO} from ${series(1_000)}`,
  `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
   select $1, 'exp_' || 1 + n % 1000, 'user_' || n, 'grp_' || 1 + n % 1000, ${AGO} from ${series(grown)}`,
  `insert into pushes (environment, id, name, title, body, data, created_at, updated_at)
   select $1, 'psh_' || n, 'Push', 'Title', 'Body', '{}', ${AGO}, ${AGO} from ${series(2_000)}`,
  `insert into integrations (environment, id, slug, title, target_platform, created_at, updated_at)
   select $1, 'int_' || n, 'webhooks', 'Filler', 'iOS', ${AGO}, ${AGO} from ${series(1_000)}`,
  `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, status, created_at,
     delivered_at, ended_at)
   select $1, 'dlv_' || n, i.number, 'event', 'evt_' || n, 'quiet', 'user_' || n, 70, n, case when n % 4 = 0 then 'pending' else 'delivered' end,
     ${AGO}, case when n % 4 > 0 then ${AGO} end, case when n % 4 > 0 then ${AGO} end
   from integrations i, ${series(grown)} where i.environment = $1 and i.id = 'int_1'`,
  `insert into ordering_keys (environment, integration, user_id) select environment, integration, user_id from deliveries where environment = $1`,
  `insert into due (kind, id, environment, due_at, destination)
   select 'delivery', number, environment, now() + interval '900 days', integration from deliveries where environment = $1 and status = 'pending'`,
  `insert into automations (environment, id, name, caption, status, version, created_at, updated_at)
   select $1, 'auto_' || n, 'Automation', 'Automation', 'active', 1, ${AGO}, ${AGO} from ${series(1_000)}`,
  `insert into automation_versions (environment, automation_id, version, data) select $1, 'auto_' || n, 1, '{"initiators": [], "actions": {}, "steps": []}' from ${series(1_000)}`,
  `insert into automation_initiators (environment, automation_id, event_name, from_offsets)
   select $1, 'auto_' || n, 'filler_' || n, array_fill(0::bigint, array[64]) from ${series(1_000)}`,
  `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
     log_offset, position, status, due_at, created_at, finished_at)
   select $1, 'run_' || n, 'auto_' || 1 + n % 10, 1, 'user_' || n, 'evt_' || n, 'quiet', ${AGO}, ${AGO}, 70, n, n,
     case when n % 4 = 0 then 'waiting' else 'succeeded' end, case when n % 4 = 0 then now() + interval '900 days' end, ${AGO},
     case when n % 4 > 0 then ${AGO} end from ${series(grown)}`,
  `insert into automation_steps (run, n, step_id, type, status, started_at)
   select number, 0, 'x', 'exit', 'succeeded', created_at from automation_runs where environment = $1`,
  `insert into due (kind, id, environment, due_at)
   select 'automation-run', number, environment, now() + interval '900 days' from automation_runs where environment = $1 and status = 'waiting'`,
  `insert into event_waits (run, environment, user_id, event_name, after_offset, deadline)
   select number, environment, user_id, 'quiet', log_offset, now() + interval '900 days' from automation_runs where environment = $1 and status = 'waiting'`,
  `insert into forgotten_runs (environment, automation_id, user_id, started) select $1, 'auto_1', 'user_' || n, 1 from ${series(grown)}`,
  `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
   select $1, 'psc_' || n, 'user_' || n, 'filler_1', 'auto_1', 'run_' || n, 'x', now(), now() + interval '900 days' from ${series(grown)}`,
  `insert into exports (environment, id, status, type, format, compression, from_timestamp, to_timestamp, window_from, window_to, from_offsets,
     to_offsets, created_at, expires_at)
   select $1, 'exp_' || n, 'done', 'events', 'csv', 'none', ${AGO}, ${AGO}, ${AGO}, ${AGO}, '{}', '{}', ${AGO}, now() + interval '900 days'
   from ${series(2_000)}`,
  `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence, missed,
     on_dst_gap, on_dst_overlap, format, created_at, updated_at)
   select $1, 'rep_' || n, 'Report', '09:00', 1, 'draft', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', ${AGO}, ${AGO} from ${series(1_000)}`,
  `insert into report_runs (environment, id, report_id, kind, slot, status, outcome, created_at, finished_at)
   select $1, 'rrn_' || n, 'rep_' || 1 + n % 10, 'scheduled', ${AGO}, 'finished', 'delivered', ${AGO}, ${AGO} from ${series(grown)}`,
  `insert into runs (environment, workflow, version, subject, status, created_at, started_at, finished_at)
   select $1, 'export', 1, 'exp_' || n, 'succeeded', ${AGO}, ${AGO}, ${AGO} from ${series(grown)}`,
  `insert into steps (run, n, name, status, started_at, finished_at)
   select id, 0, 'begin', 'succeeded', created_at, created_at from runs where environment = $1`,
  // Of the project's other environment, whose clock stands: no window of this environment contains them, and they are not compacted.
  `insert into ledger_history (environment, kind, due_at, outcome, count)
   select o.id, 'deliveries', date_trunc('second', now() - n * interval '1 second'), 'delivered', 1
   from environments e join environments o on o.project = e.project and o.id <> e.id, ${series(grown)} where e.id = $1 on conflict do nothing`,
]

/** Fills the environment, and keeps the tables without statistics. Nothing of it is explained, and no foreign key is checked: the rows refer to each other. */
export async function fillEnvironment(pool: Pool, environment: number, grown = USED_LONG): Promise<void> {
  const client = await pool.connect()
  await client.query('set auto_explain.log_min_duration = -1')
  await client.query('set session_replication_role = replica')
  const { rows } = await client.query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`)
  for (const { name } of rows) await client.query(`alter table ${name} set (autovacuum_enabled = false)`)
  for (const statement of statements(grown)) await client.query(statement, [environment])
  client.release(true)
}
