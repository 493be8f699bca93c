import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { copyAsVariant, dropVariant } from '../offerings/variant.ts'
import { conflict, notFound } from '../refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { lockConfiguration, refuseArchived } from '../remote-configurations/lock.ts'
import { type Experiment, GROUP_COLUMNS, type Group, groupsOf, lockExperiment } from './experiment.ts'

export type GroupInput = {
  name: string | null
  is_control: boolean
  weight: number
  remote_config_uid: string | null
  offering_uid: string | null
}

const MAX_GROUPS = 20

const refuseStarted = ({ status }: Experiment): void => {
  if (status !== 'draft') throw conflict(`groups are made and deleted in a draft only, the experiment is ${status}`)
}

export async function getGroup(tx: Tx, environment: Environment, experiment: string, id: string, what = 'group'): Promise<Group> {
  const { rows } = await tx.query<Group>(
    `select ${GROUP_COLUMNS} from experiment_groups where environment = $1 and id = $2 and experiment_id = $3`,
    [environment, id, experiment],
  )
  if (!rows[0]) throw notFound(what)
  return rows[0]
}

/** Under the experiment's lock: the flag never stands twice, not even for a moment. */
export const takeControl = (tx: Tx, environment: Environment, experiment: string) =>
  tx.query(
    `update experiment_groups set is_control = false, updated_at = environment_now($1)
     where environment = $1 and experiment_id = $2 and is_control`,
    [environment, experiment],
  )

export async function useConfiguration(tx: Tx, environment: Environment, id: string): Promise<void> {
  refuseArchived(await lockConfiguration(tx, environment, id, 'share', 'remote_config_uid'))
}

/** The group's own copy of a regular offering. */
export async function useOffering(tx: Tx, environment: Environment, source: string, group: string) {
  const variant = await copyAsVariant(tx, environment, source, group)
  if (!variant) throw notFound('offering_uid')
  return variant
}

export async function createGroup(tx: Tx, environment: Environment, experiment: string, input: GroupInput): Promise<Group> {
  refuseStarted(await lockExperiment(tx, environment, experiment))
  const { rows: counted } = await tx.query<{ count: number }>(
    'select count(*)::int as count from experiment_groups where environment = $1 and experiment_id = $2',
    [environment, experiment],
  )
  if (input.remote_config_uid !== null) await useConfiguration(tx, environment, input.remote_config_uid)
  const id = orderedId('grp')
  const variant = input.offering_uid === null ? null : await useOffering(tx, environment, input.offering_uid, id)
  if (counted[0]!.count >= MAX_GROUPS) throw conflict(`an experiment has at most ${MAX_GROUPS} groups`)
  if (input.is_control) await takeControl(tx, environment, experiment)
  const { rows } = await tx.query<Group>(
    `insert into experiment_groups (environment, id, experiment_id, name, is_control, weight, remote_config_uid, offering_uid, offering_tag,
       created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, t, t from environment_now($1) t returning ${GROUP_COLUMNS}`,
    [
      environment,
      id,
      experiment,
      input.name,
      input.is_control,
      input.weight,
      input.remote_config_uid,
      variant?.id ?? null,
      variant?.tag ?? null,
    ],
  )
  return rows[0]!
}

/** Pins to it go by their foreign key. */
export async function deleteGroup(tx: Tx, environment: Environment, experiment: string, id: string): Promise<Group> {
  const parent = await lockExperiment(tx, environment, experiment)
  const group = await getGroup(tx, environment, experiment, id)
  refuseStarted(parent)
  if (group.offering_uid !== null) await dropVariant(tx, environment, id)
  await tx.query('delete from experiment_groups where environment = $1 and id = $2', [environment, id])
  return group
}

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
