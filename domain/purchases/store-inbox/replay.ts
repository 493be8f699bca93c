import type { Db, Tx } from '../../../store/connect.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { STORE_QUEUE_DUE } from './queues.ts'

/** Notifications of a project: by their row numbers, all that were set aside, or those of queues. */
export type ReplaySelection = { is: 'ids'; ids: number[] } | { is: 'set_aside' } | { is: 'queues'; queues: number[] }

// A row that is pending needs no replay, and one of no interest has nothing to be read.
const REPLAY = (selected: string): string => `
with picked as materialized (
  select i.id, i.lane from store_inbox i where i.project = $1 and ${selected} order by i.id for no key update
), again as (
  update store_inbox i set state = 'pending', attempts = 0, next_attempt_at = null, reason = null from picked p where i.id = p.id returning i.id, i.lane
), jobs as (
  ${insertJobs({
    kind: STORE_QUEUE_DUE,
    id: 'lane',
    environment: 'e.id',
    dueAt: 'clock_timestamp()',
    from: `(select distinct lane from again) a join environments e on e.project = $1 and e.kind = 'production' order by lane`,
    isRecreated: true,
    ifExists: 'advance',
  })}
)
select id from again order by id`

const SELECTED: Record<ReplaySelection['is'], string> = {
  ids: `i.id = any ($2::bigint[]) and i.state in ('done', 'set_aside')`,
  set_aside: `$2::bigint[] is null and i.state = 'set_aside'`,
  queues: `i.lane = any ($2::bigint[]) and i.state in ('done', 'set_aside')`,
}

const numbersOf = (selection: ReplaySelection): number[] | null => {
  switch (selection.is) {
    case 'ids':
      return selection.ids
    case 'queues':
      return selection.queues
    case 'set_aside':
      return null
    default:
      return selection satisfies never
  }
}

/**
 * Makes notifications that are done or set aside pending again, as if nothing had been tried yet, and their queues due. What is recorded already is
 * found again when they are read: nothing is emitted twice. Gives their numbers.
 */
export async function replayNotifications(tx: Tx, project: number, selection: ReplaySelection): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(REPLAY(SELECTED[selection.is]), [project, numbersOf(selection)])
  if (rows.length > 0) announceJobs(tx, STORE_QUEUE_DUE)
  return rows.map(({ id }) => id)
}

export type NamedNotification = { id: number; state: string; given: string }

/** Notifications by what an operator calls them: the row number, or the store's own id. */
export async function findNotifications(db: Db, project: number, given: string[]): Promise<NamedNotification[]> {
  const { rows } = await db.query<NamedNotification>(
    `select i.id, i.state, g.given from unnest($2::text[]) g(given)
     join store_inbox i on i.project = $1 and (i.notification_id = g.given or i.id = case when g.given ~ '^[0-9]{1,15}$' then g.given::bigint end)
     order by i.id`,
    [project, given],
  )
  return rows
}
