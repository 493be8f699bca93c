import { SHOWN_STATUS } from '../../automations/automation-runs/run.ts'

export const TIMELINE_KINDS = ['event', 'purchase', 'access', 'automation_run', 'delivery', 'screen', 'experiment', 'change'] as const
export type TimelineKind = (typeof TIMELINE_KINDS)[number]

/**
 * Where entries of a kind are read: at most `$7` of the user `$2` in environment `$1`, that come after the time `$4` and, of one time, after `bound`.
 * `rows` selects `at`, `key` (a text that orders the entries of one time) and `data`. Names in cursors: they never change.
 */
type Source = { name: string; kind: TimelineKind; rows: (bound: string) => string; isNumbered?: true }

// Every range ends in (user, time, key), also where an equality of the user would do: no other index has the order of such a range. It has no other
// upper end: a scan would begin there, and pass all entries that are newer than the page.
const newest = (table: string, columns: string, at: string, bound: string) => `
  select ${columns} from ${table}
  where ${at} is not null and environment = $1 and user_id >= $2 and (user_id, ${at}, id) < ($2, $4::timestamptz, ${bound})
  order by user_id desc, ${at} desc, id desc limit $7`

/** The same by an index without the id, which a third of the index would be: entries of one time are in no order in it, and are read together. */
const newestTogether = (table: string, columns: string, at: string, bound: string, user = 'user_id') => `
  select ${columns} from ${table}
  where environment = $1 and ${user} >= $2 and (${user}, ${at}) <= ($2, $4::timestamptz) and (${at}, id) < ($4, ${bound})
  order by ${user} desc, ${at} desc fetch first $7 rows with ties`

/** As the index has it: an expression, so that no other question about the runs of a user takes that index. */
const USER_OF_RUN = `(user_id || '')`

/** The digits of a number, so that texts have the order of the numbers. */
const padded = (id: string) => `lpad(${id}::text, 19, '0')`

const AUDIT_GROUP = `case when resource in ('user_entitlement', 'customer_permission') then 'access' else 'change' end`
const audited = (group: 'access' | 'change', columns: string, bound: string) => `
  select created_at as at, id as key, ${columns} as data from audit_log
  where environment = $1 and user_id >= $2 and (user_id, ${AUDIT_GROUP}) >= ($2, '${group}')
    and (user_id, ${AUDIT_GROUP}, created_at, id) < ($2, '${group}', $4::timestamptz, ${bound})
  order by user_id desc, ${AUDIT_GROUP} desc, created_at desc, id desc limit $7`

const object = (...columns: string[]) => `jsonb_build_object(${columns.map(column => `'${column}', ${column}`).join(', ')})`

const PURCHASE = object('user_id', 'platform', 'store_product_id', 'base_plan_id', 'currency', 'period_type', 'expires_at', 'refunded_at')
const purchaseData = (amount: string) => `${PURCHASE} || jsonb_build_object('id', id::text, 'amount', ${amount})`

/** In the order in which entries of one time stand. */
export const SOURCES: readonly Source[] = [
  {
    name: 'event',
    kind: 'event',
    rows: bound =>
      newestTogether(
        'events',
        `happened_at as at, id as key, ${object('name', 'platform', 'product_id', 'screen_id', 'currency', 'transaction_id')}
          || jsonb_build_object('price', price::text) as data`,
        'happened_at',
        bound,
      ),
  },
  {
    name: 'payment',
    kind: 'purchase',
    isNumbered: true,
    rows: bound => `
      select purchased_at as at, ${padded('id')} as key, ${purchaseData('price')} as data from (
        (${newest('purchases', '*', 'purchased_at', bound)})
        union all
        select s.* from lineage_shares h cross join lateral (
          select * from purchases
          where lineage >= h.lineage and lineage <= h.lineage and (lineage, purchased_at, id) < (h.lineage, $4::timestamptz, ${bound})
          order by lineage desc, purchased_at desc, id desc limit $7) s
        where h.environment = $1 and h.user_id = $2) p`,
  },
  {
    name: 'refund',
    kind: 'purchase',
    isNumbered: true,
    // A lineage has few purchases: those that are shared are read by it, as other lists read them.
    rows: bound => `
      select refunded_at as at, ${padded('id')} as key, ${purchaseData('coalesce(refunded_amount, amount)::text')} as data from (
        (${newest('purchases', '*', 'refunded_at', bound)})
        union all
        select s.* from lineage_shares h cross join lateral (
          select * from purchases where lineage >= h.lineage and lineage <= h.lineage order by lineage, purchased_at, id) s
        where h.environment = $1 and h.user_id = $2 and s.refunded_at is not null and (s.refunded_at, s.id) < ($4::timestamptz, ${bound})) p`,
  },
  {
    name: 'grant',
    kind: 'access',
    rows: bound => audited('access', object('resource_id', 'actor_kind', 'actor_id', 'operation', 'before', 'after'), bound),
  },
  {
    name: 'expiry',
    kind: 'access',
    // A user has one grant of an entitlement at most.
    rows: bound => `
      select expires_at as at, md5(entitlement_id) collate "C" as key, ${object('entitlement_id', 'expires_at')} as data
      from (select * from grants where environment = $1 and user_id >= $2 and user_id <= $2 order by user_id, entitlement_id) g
      where expires_at <= environment_now($1) and (expires_at, md5(entitlement_id) collate "C") < ($4::timestamptz, ${bound})
      order by expires_at desc, key desc limit $7`,
  },
  {
    name: 'run',
    kind: 'automation_run',
    rows: bound =>
      newestTogether(
        'automation_runs',
        `created_at as at, id as key, ${object('automation_id', 'reason', 'event_id', 'event_name', 'replay_of', 'finished_at')}
          || jsonb_build_object('status', ${SHOWN_STATUS}) as data`,
        'created_at',
        bound,
        USER_OF_RUN,
      ),
  },
  {
    name: 'delivery',
    kind: 'delivery',
    rows: bound =>
      newestTogether(
        'deliveries',
        `created_at as at, id as key, ${object('integration', 'event_id', 'event_name', 'source', 'run_id', 'status', 'reason')}
          || ${object('attempt_count', 'delivered_at')} as data`,
        'created_at',
        bound,
      ),
  },
  {
    name: 'screen',
    kind: 'screen',
    rows: bound =>
      newest(
        'pending_screens',
        `created_at as at, id as key, ${object('screen_id', 'automation_id', 'run_id', 'shown_at', 'expires_at')} as data`,
        'created_at',
        bound,
      ),
  },
  {
    name: 'assignment',
    kind: 'experiment',
    rows: bound => `
      select assigned_at as at, experiment_id as key, ${object('group_id', 'pinned')} as data from experiment_assignments
      where environment = $1 and user_id >= $2 and (user_id, assigned_at, experiment_id) < ($2, $4::timestamptz, ${bound})
      order by user_id desc, assigned_at desc, experiment_id desc limit $7`,
  },
  {
    name: 'change',
    kind: 'change',
    rows: bound => audited('change', object('resource', 'resource_id', 'actor_kind', 'actor_id', 'operation', 'reason'), bound),
  },
]
