import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { dropVariant } from '../offerings/variant.ts'
import { conflict } from '../refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { GROUP_COLUMNS, type Group, lockExperiment } from './experiment.ts'
import { groupsOf } from './find.ts'
import { type GroupInput, getGroup, takeControl, useConfiguration, useOffering } from './groups.ts'

type Field = keyof GroupInput
const ALWAYS: readonly Field[] = ['name', 'weight']

/** Only given fields that differ change. The offering is named by its source, or by the copy itself, which leaves it. */
export async function updateGroup(
  tx: Tx,
  environment: Environment,
  experiment: string,
  id: string,
  input: Partial<GroupInput>,
): Promise<Change<Group>> {
  const { status } = await lockExperiment(tx, environment, experiment)
  const before = await getGroup(tx, environment, experiment, id)
  const present: GroupInput = { ...before, weight: Number(before.weight) }
  const changed = (Object.keys(input) as Field[]).filter(field => input[field] !== undefined && input[field] !== present[field])
  if (changed.length === 0) return unchanged(before)
  if (status === 'finished') throw conflict('the groups of a finished experiment cannot be changed')
  const late = status === 'draft' ? undefined : changed.find(field => !ALWAYS.includes(field))
  if (late) throw conflict(`${late} can be changed in a draft only, the experiment is ${status}`)
  if (status !== 'draft' && input.weight === 0 && !(await othersWeigh(tx, environment, experiment, id)))
    throw conflict('the sum of the weights must stay above 0')

  const set: Record<string, unknown> = {}
  for (const field of changed) set[field] = input[field]
  if (changed.includes('remote_config_uid') && input.remote_config_uid != null)
    await useConfiguration(tx, environment, input.remote_config_uid)
  if (changed.includes('offering_uid')) {
    const source = input.offering_uid ?? null
    if (source === null) await dropVariant(tx, environment, id)
    const variant = source === null ? null : await useOffering(tx, environment, source, id)
    set.offering_uid = variant?.id ?? null
    set.offering_tag = variant?.tag ?? null
  }
  if (changed.includes('is_control') && input.is_control) await takeControl(tx, environment, experiment)
  const { rows } = await tx.query<Group>(
    `update experiment_groups set ${Object.keys(set)
      .map((field, i) => `${field} = $${i + 3}`)
      .join(', ')}, updated_at = environment_now($1)
     where environment = $1 and id = $2 returning ${GROUP_COLUMNS}`,
    [environment, id, ...Object.values(set)],
  )
  return { before, after: rows[0]! }
}

const othersWeigh = async (tx: Tx, environment: Environment, experiment: string, id: string): Promise<boolean> =>
  (await groupsOf(tx, environment, experiment)).some(group => group.id !== id && Number(group.weight) > 0)
