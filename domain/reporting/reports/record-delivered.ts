import type { Db, Tx } from '../../../store/connect.ts'
import { type ClaimedJob, lockFences } from '../../durable/jobs/job.ts'
import { finishRuns, NOTHING_RECORDED } from '../../durable/jobs/record.ts'
import type { RunSubject } from '../../durable/jobs/workflow-run.ts'
import { type LoadedDelivery, loadReportDeliveries } from './load-delivery.ts'
import { type SettledDelivery, settleDestinations } from './settle.ts'

type Claimed = Pick<ClaimedJob, 'id' | 'fence'>

/** A delivery of which no attempt is recorded. */
export type NewReportDelivery = { subject: string; loaded: LoadedDelivery }

/** The deliveries of the runs of these claims. Null: attempts are recorded, or the run of the report is deleted. */
export async function loadNewDeliveries(db: Db, claimed: readonly Claimed[]): Promise<(NewReportDelivery | null)[]> {
  const { rows } = await db.query<RunSubject & { number: number }>({
    name: 'subjects-of-new-runs',
    text: `select w.* from unnest($1::bigint[]) c(id)
             cross join lateral (select id as number, environment, subject from runs where id = c.id and ${NOTHING_RECORDED} limit 1) w`,
    values: [claimed.map(({ id }) => id)],
  })
  const loaded = await loadReportDeliveries(db, rows)
  const byNumber = new Map(rows.map(({ number, subject }, i) => [number, loaded[i] && { subject, loaded: loaded[i] }]))
  return claimed.map(({ id }) => byNumber.get(id) ?? null)
}

/** A delivery that has ended, and the claim of its run. */
export type EndedDelivery = SettledDelivery & { claimed: Claimed }

/**
 * Records deliveries of one kind that have ended at their first attempt, and ends their runs. Gives for each whether its run still belonged to
 * this worker: of the others nothing is written.
 */
export async function recordEnded(tx: Tx, kind: string, ended: readonly EndedDelivery[]): Promise<boolean[]> {
  const held = await lockFences(
    tx,
    kind,
    ended.map(({ claimed }) => claimed),
  )
  const own = ended.filter(({ claimed }) => held.has(claimed.id))
  if (own.length > 0) {
    await settleDestinations(tx, own)
    await finishRuns(
      tx,
      kind,
      own.map(({ claimed }) => claimed),
    )
  }
  return ended.map(({ claimed }) => held.has(claimed.id))
}
