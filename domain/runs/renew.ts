import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { createRun, type NewRun } from './create.ts'
import { NEXT_FENCE } from './fence.ts'

/** In SQL: whether an unfinished run of the workflow has this subject. */
export const isPromised = ({ workflow }: { workflow: string }, environment: string, subject: string): string =>
  `exists (select 1 from runs w where w.environment = ${environment} and w.subject = ${subject} and w.workflow = '${workflow}' and w.finished_at is null)`

/**
 * A run in place of one that is gone. What a former holder may still be writing carries that one's fence in its name: this one's is
 * higher.
 */
export async function renewRun(tx: Tx, environment: Environment, run: NewRun): Promise<void> {
  const id = await createRun(tx, environment, run)
  await tx.query(`update due set fence = ${NEXT_FENCE} where kind = $1 and id = $2`, [run.workflow, id])
}
