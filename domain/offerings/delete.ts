import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { Refusal } from '../refusal.ts'
import { getForChange } from './find.ts'
import { lockMain } from './main.ts'
import { MAIN, type Offering } from './offering.ts'

/** Removes an offering; the main one only as the last one. */
export async function deleteOffering(tx: Tx, environment: Environment, id: string): Promise<Offering> {
  await lockMain(tx, environment)
  await tx.query('select 1 from offerings where environment = $1 and id = $2 for update', [environment, id])
  const before = await getForChange(tx, environment, id, 'cannot_delete_experiment_variant')
  if (before.tag === MAIN) {
    const others = await tx.query('select 1 from offerings where environment = $1 and variant_of is null and id <> $2 limit 1', [
      environment,
      id,
    ])
    if (others.rowCount !== 0) throw new Refusal('cannot_delete_main', 'this is the main offering: make another one the main one first')
  }
  await tx.query('delete from offerings where environment = $1 and id = $2', [environment, id])
  return before
}
