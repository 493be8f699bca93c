import type { Db } from '../../store/connect.ts'
import { DUE_CHANNEL } from './create.ts'

type Held = { kind: string; id: number; fence: number }

const columns = (held: Held[]) => [held.map(h => h.kind), held.map(h => h.id), held.map(h => h.fence)]
const MATCH = `from unnest($1::text[], $2::bigint[], $3::int[]) h(kind, id, fence) where d.kind = h.kind and d.id = h.id and d.fence = h.fence`

/** Heartbeat: prolongs what is still held and returns its ids; what is missing from the answer has been lost to another worker. */
export async function prolongLeases(db: Db, held: Held[], leaseMs: number): Promise<Set<string>> {
  const { rows } = await db.query<{ kind: string; id: number }>({
    name: 'prolong-leases',
    text: `update due d set lease_until = clock_timestamp() + make_interval(secs => $4::float8 / 1000) ${MATCH} returning d.kind, d.id`,
    values: [...columns(held), leaseMs],
  })
  return new Set(rows.map(row => `${row.kind}:${row.id}`))
}

/** Gives runs back unfinished (the process stops): another worker may take them at once. */
export async function releaseLeases(db: Db, held: Held[]): Promise<void> {
  if (held.length === 0) return
  await db.query(
    `with freed as (update due d set lease_until = null, ring_until = null ${MATCH} returning d.kind)
    select pg_notify('${DUE_CHANNEL}', kind) from freed`,
    columns(held),
  )
}
