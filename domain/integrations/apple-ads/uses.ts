import type { Db, Tx } from '../../../store/connect.ts'

/** At most `most` uses within `seconds`. */
type Limit = { most: number; seconds: number }

const LIMITS = {
  report: [{ most: 30, seconds: 60 }],
  update: [
    { most: 10, seconds: 60 },
    { most: 60, seconds: 3600 },
  ],
  enable: [{ most: 20, seconds: 86_400 }],
  raise_bid: [{ most: 20, seconds: 86_400 }],
  raise_budget: [{ most: 10, seconds: 86_400 }],
} satisfies Record<string, Limit[]>
export type UseKind = keyof typeof LIMITS

/** The seconds to wait until the project may use it once more, by real time; null: none. */
export async function waitForUse(db: Db, project: number, kind: UseKind): Promise<number | null> {
  const { rows } = await db.query<{ ages: number[] }>(
    `select array(select extract(epoch from clock_timestamp() - t)::float8 from unnest(times) t order by 1) as ages
     from apple_ads_uses where project = $1 and kind = $2`,
    [project, kind],
  )
  const ages = rows[0]?.ages ?? []
  const waits = LIMITS[kind].flatMap(({ most, seconds }) => {
    // The oldest of the last `most` uses must have left the span.
    const age = ages[most - 1]
    return age === undefined || age >= seconds ? [] : [Math.max(1, Math.ceil(seconds - age))]
  })
  return waits.length > 0 ? Math.max(...waits) : null
}

/**
 * Counts a use of the project and returns null. Where a limit is reached it counts nothing and returns the seconds to wait. The lock on the
 * row is held until the transaction ends, so of two uses at the same time one sees the other.
 */
export async function countUse(tx: Tx, project: number, kind: UseKind): Promise<number | null> {
  await tx.query('insert into apple_ads_uses (project, kind) values ($1, $2) on conflict do nothing', [project, kind])
  // The time is read when the lock is held: after it waited, it must not be earlier than that of the use before.
  await tx.query('select from apple_ads_uses where project = $1 and kind = $2 for no key update', [project, kind])
  const wait = await waitForUse(tx, project, kind)
  if (wait !== null) return wait
  const kept = Math.max(...LIMITS[kind].map(({ most }) => most))
  await tx.query(`update apple_ads_uses set times = (array[clock_timestamp()] || times)[:${kept}] where project = $1 and kind = $2`, [
    project,
    kind,
  ])
  return null
}
