import type { Db } from '../../../store/connect.ts'
import { OPEN_DELIVERY } from './delivery.ts'
import { PROBE_DUE } from './probe.ts'

/** The most deliveries of one integration that are counted. To count more would take time when there are many. */
const MOST_COUNTED = 10_000

/** After this time an operator should act: a receiver that is down for longer is not just restarting. */
export const HELD_SECONDS = 900

/** In SQL: the open deliveries of integration `i`, counted up to 10,000, and when the first of them was created. */
const OPEN_OF_INTEGRATION = `
  (select count(*)::int from (
    select 1 from deliveries where integration = i.number and status in ${OPEN_DELIVERY} limit ${MOST_COUNTED}) o) as open,
  (select created_at from deliveries where integration = i.number and status in ${OPEN_DELIVERY} order by number limit 1) as first_at`

/** The held deliveries of one integration. `held`: up to 10,000; `lag_seconds`: the age of its first open delivery. */
export type WaitingDeliveries = { held: number; held_since: string | null; lag_seconds: number; next_probe_at: string | null }

/** The held deliveries of each of the integrations. */
export async function withWaiting<Row extends { number: number }>(
  db: Db,
  integrations: readonly Row[],
): Promise<(Row & WaitingDeliveries)[]> {
  const { rows } = await db.query<WaitingDeliveries & { number: number }>({
    name: 'read-waiting',
    text: `select i.number, case when i.active = 1 then 0 else w.open end as held,
             case when i.active <> 1 and w.first_at is not null then greatest(i.held_since, w.first_at) end as held_since,
             greatest(0, coalesce(extract(epoch from environment_now(i.environment) - w.first_at), 0))::bigint as lag_seconds,
             case when i.active = 2 then (select due_at from due where kind = '${PROBE_DUE}' and id = i.number) end as next_probe_at
           from integrations i cross join lateral (select ${OPEN_OF_INTEGRATION}) w where i.number = any ($1::int[])`,
    values: [integrations.map(({ number }) => number)],
  })
  const found = new Map(rows.map(({ number, ...waiting }) => [number, waiting]))
  return integrations.map(row => ({ ...row, ...found.get(row.number)! }))
}

/** Deliveries that wait because their integration is in error, over all projects; and for how long the first of them is held already. */
export type HeldFigures = { held: number; seconds: number }

/** Without paused integrations, because their users have decided that the deliveries wait, and without sandboxes, whose receivers are often down. */
export async function readHeldFigures(db: Db): Promise<HeldFigures> {
  const { rows } = await db.query<HeldFigures>({
    name: 'count-held',
    text: `select coalesce(sum(w.open), 0)::bigint as held,
             greatest(0, coalesce(max(extract(epoch from clock_timestamp() + e.clock_offset - greatest(i.held_since, w.first_at))), 0))::float8 as seconds
           from integrations i join environments e on e.id = i.environment cross join lateral (select ${OPEN_OF_INTEGRATION}) w
           where e.kind = 'production' and i.active = 2 and i.deleted_at is null and w.first_at is not null`,
  })
  return rows[0]!
}
