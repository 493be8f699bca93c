import type { Tx } from '../../../store/connect.ts'
import { classifyFailure } from '../../../store/failures.ts'
import { savepoint } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Condition } from './condition.ts'

/** Counting stops here: the API's header then says "this many or more". */
const MOST_COUNTED = 1_000_000
const MAX_TIME_MS = 1_000

/** How many users are in a segment with these conditions now; null when the count takes more than a second. */
export async function countMembers(tx: Tx, environment: Environment, conditions: readonly Condition[]): Promise<number | null> {
  if (conditions.some(({ metric }) => metric === 'segment')) throw new RangeError('a segment names no segment')
  const { memberIdsSql } = await import('./sql.ts')
  const members = memberIdsSql(environment, conditions, new Map())
  try {
    return await savepoint(tx, async () => {
      const { rows: before } = await tx.query<{ limit: string }>(
        `select current_setting('statement_timeout') as limit, set_config('statement_timeout', $1, true)`,
        [String(MAX_TIME_MS)],
      )
      const { rows } = await tx.query<{ n: number }>(
        `select count(*) as n from (${members.sql} limit ${MOST_COUNTED}) m`,
        members.parameters,
      )
      await tx.query(`select set_config('statement_timeout', $1, true)`, [before[0]!.limit])
      return rows[0]!.n
    })
  } catch (error) {
    if (classifyFailure(error) === 'timeout') return null
    throw error
  }
}
