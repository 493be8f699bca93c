import type { Tx } from '../../../store/connect.ts'
import { FOLD_VERSION } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'

/**
 * Lets readers see an empty generation of facts, when the environment has no user any more. Its number is beyond the one that a rebuild may
 * fill at this moment; housekeeping removes the facts of the former generations. A replica of another generation is created again.
 */
export const beginFactsAnew = (tx: Tx, environment: Environment): Promise<unknown> =>
  tx.query(
    `update fact_state set generation = coalesce(building, generation + 1) + 1, building = null, folded_to = null,
       fold_version = ${FOLD_VERSION}, seq = seq + 1, words_checked_seq = -1
     where environment = $1`,
    [environment],
  )
