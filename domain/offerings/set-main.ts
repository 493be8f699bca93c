import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { getForChange } from './find.ts'
import { lockMain } from './main.ts'
import { MAIN, OFFERING_COLUMNS, type Offering } from './offering.ts'

/** Moves the main mark. Both rows are locked in the order of their ids, as by the deletion of a product of both. `after` is null when it is there already. */
export async function setMainOffering(tx: Tx, environment: Environment, id: string): Promise<{ before: Offering; after: Offering | null }> {
  await lockMain(tx, environment)
  await tx.query(
    `select 1 from offerings where environment = $1
     and id in (select $2 union all select id from offerings where environment = $1 and tag = 1 and variant_of is null)
     order by id for no key update`,
    [environment, id],
  )
  const before = await getForChange(tx, environment, id, 'cannot_setmain_experiment_variant')
  if (before.tag === MAIN) return { before, after: null }
  // First the old one: the unique index on the main offering looks at each row as it is written.
  await tx.query(
    `update offerings set tag = 0, updated_at = date_trunc('second', environment_now($1))
     where environment = $1 and tag = 1 and variant_of is null`,
    [environment],
  )
  const { rows } = await tx.query<Offering>(
    `update offerings set tag = 1, updated_at = date_trunc('second', environment_now($1)) where environment = $1 and id = $2
     returning ${OFFERING_COLUMNS}`,
    [environment, id],
  )
  return { before, after: rows[0]! }
}
