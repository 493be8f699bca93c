import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound, Refusal, type RefusalCode } from '../refusal.ts'
import { OFFERING_COLUMNS, type Offering } from './offering.ts'

/** A regular offering: the copies of experiments are not found. */
export async function getOffering(db: Db, environment: Environment, id: string): Promise<Offering> {
  const { rows } = await db.query<Offering>({
    name: 'get-offering',
    text: `select ${OFFERING_COLUMNS} from offerings where environment = $1 and id = $2 and variant_of is null`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('offering')
  return rows[0]
}

type VariantRefusal = Extract<RefusalCode, `cannot_${string}_experiment_variant`>

/** An offering about to be changed; the copy of an experiment is refused with the code of what was to be done to it. */
export async function getForChange(tx: Tx, environment: Environment, id: string, refusal: VariantRefusal): Promise<Offering> {
  const { rows } = await tx.query<Offering & { is_variant: boolean }>(
    `select ${OFFERING_COLUMNS}, variant_of is not null as is_variant from offerings where environment = $1 and id = $2`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('offering')
  const { is_variant, ...offering } = rows[0]
  if (is_variant) throw new Refusal(refusal, 'the offering belongs to the group of an experiment')
  return offering
}
