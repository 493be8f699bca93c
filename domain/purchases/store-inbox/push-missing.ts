import type { Db, Tx } from '../../../store/connect.ts'
import { raiseAlerts, type StoreAlert } from './alerts.ts'
import { LAST_PUSH } from './figures.ts'
import type { SignedNotification } from './notification.ts'
import type { StoreSweep } from './sweeps.ts'

/** How long a push may be on its way, or until it is sent again. */
export const LATE_MS = 3_600_000

/** Pushes of a store do not arrive: a sweep has brought something that is over an hour old. */
const pushMissing = (of: Pick<StoreAlert, 'project' | 'platform' | 'environment'>): StoreAlert => ({
  ...of,
  alert: 'push_missing',
  about: '',
})

// A push about the same lineage causes a fetch of all of it, under whatever id the push came.
const UNPUSHED = `
  select 1 from unnest($3::text[], $4::bigint[]) n(lane, stated_at) where not exists (
    select from store_lanes l join store_inbox i on i.lane = l.id
    where l.project = $1 and l.platform = $2 and md5(l.name) = md5(n.lane) and i.source = 'push' and i.stated_at >= n.stated_at - ${LATE_MS}) limit 1`

/**
 * Raises the alert for notifications that a sweep has recorded now and that are over an hour old. `isNamedAlike`: the store names what a sweep
 * finds as it names its pushes, so that these notifications were pushed by no other name.
 */
export async function raiseIfUnpushed(
  tx: Tx,
  of: Pick<StoreAlert, 'project' | 'platform' | 'environment'>,
  late: readonly SignedNotification[],
  isNamedAlike: boolean,
): Promise<void> {
  if (late.length === 0) return
  if (!isNamedAlike) {
    const values = [of.project, of.platform, late.map(({ queue }) => queue), late.map(({ statedAt }) => statedAt)]
    if ((await tx.query({ name: 'unpushed-notifications', text: UNPUSHED, values })).rows.length === 0) return
  }
  await raiseAlerts(tx, [pushMissing(of)])
}

const SILENT = `
  select 1 from store_sweeps s cross join lateral (select ${LAST_PUSH} as at) p where s.id = $1 and exists (
    select from store_inbox i where i.project = s.project and i.platform = s.platform and i.source = 'sweep' and ($2 or i.environment = s.environment)
      and i.received_at > clock_timestamp() - interval '2 hours' and to_timestamp(i.stated_at / 1000.0) > greatest(s.created_at, p.at)
      and i.stated_at < extract(epoch from clock_timestamp()) * 1000 - ${LATE_MS})`

/**
 * Raises the alert when the store has pushed nothing since something that this sweep or the one before has found: hourly sweeps find most of what
 * is missing before it is an hour old.
 */
export async function raiseIfSilent(db: Db, { id, project, platform, environment }: StoreSweep, isForBoth: boolean): Promise<void> {
  const { rows } = await db.query({ name: 'silent-store', text: SILENT, values: [id, isForBoth] })
  if (rows.length > 0) await raiseAlerts(db, [pushMissing({ project, platform, environment: isForBoth ? null : environment })])
}

const KEPT_DAYS = 7

const PUSHED = `select from store_inbox i where i.project = a.project and i.platform = a.platform and i.source = 'push' and i.received_at > a.last_at`

/** Ends the alerts of stores that have pushed something since, or after 7 days without another cause. */
export async function endPushMissing(db: Db): Promise<void> {
  await db.query({
    name: 'end-push-missing',
    text: `delete from store_alerts a where a.alert = 'push_missing' and (
             a.last_at < clock_timestamp() - make_interval(days => $1)
             or exists (select from environments e where e.project = a.project and a.environment in (0, e.id)
                        and exists (${PUSHED} and i.environment = e.id))
             or a.environment = 0 and exists (${PUSHED} and i.environment is null))`,
    values: [KEPT_DAYS],
  })
}
