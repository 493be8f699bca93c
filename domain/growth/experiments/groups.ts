import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { copyAsVariant, dropVariant } from '../../catalogue/offerings/variant.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, notFound } from '../../kernel/refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { lockConfiguration, refuseArchived } from '../remote-configurations/lock.ts'
import { type Experiment, type ExperimentGroup, GROUP_COLUMNS, groupsOf, lockExperiment } from './experiment.ts'

type GroupInput = {
  name: string | null
  is_control: boolean
  weight: number
  remote_config_uid: string | null
  offering_uid: string | null
}

const MAX_GROUPS = 20

const refuseStarted = ({ status }: Experiment): void => {
  if (status !== 'draft') throw conflict(`groups can be created and deleted in a draft only, the experiment is ${status}`)
}

export async function getGroup(tx: Tx, environment: Environment, experiment: string, id: string, what = 'group'): Promise<ExperimentGroup> {
  const { rows } = await tx.query<ExperimentGroup>(
    `select ${GROUP_COLUMNS} from experiment_groups where environment = $1 and id = $2 and experiment_id = $3`,
    [environment, id, experiment],
  )
  if (!rows[0]) throw notFound(what)
  return rows[0]
}

/** Ends the present control group. Under the experiment's lock, so that no reader sees two control groups. */
const clearControl = (tx: Tx, environment: Environment, experiment: string) =>
  tx.query(
    `update experiment_groups set is_control = false, updated_at = environment_now($1)
     where environment = $1 and experiment_id = $2 and is_control`,
    [environment, experiment],
  )

async function lockGroupConfiguration(tx: Tx, environment: Environment, id: string): Promise<void> {
  refuseArchived(await lockConfiguration(tx, environment, id, 'share', 'remote_config_uid'))
}

/** Creates the group's own copy of a regular offering. */
async function copyOffering(tx: Tx, environment: Environment, source: string, group: string) {
  const variant = await copyAsVariant(tx, environment, source, group)
  if (!variant) throw notFound('offering_uid')
  return variant
}

export async function createGroup(tx: Tx, environment: Environment, experiment: string, input: GroupInput): Promise<ExperimentGroup> {
  refuseStarted(await lockExperiment(tx, environment, experiment))
  const { rows: counted } = await tx.query<{ count: number }>(
    'select count(*)::int as count from experiment_groups where environment = $1 and experiment_id = $2',
    [environment, experiment],
  )
  if (input.remote_config_uid !== null) await lockGroupConfiguration(tx, environment, input.remote_config_uid)
  const id = orderedId('grp')
  const variant = input.offering_uid === null ? null : await copyOffering(tx, environment, input.offering_uid, id)
  if (counted[0]!.count >= MAX_GROUPS) throw conflict(`an experiment has at most ${MAX_GROUPS} groups`)
  if (input.is_control) await clearControl(tx, environment, experiment)
  const { rows } = await tx.query<ExperimentGroup>(
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

/** Deletes a group. A foreign key deletes its assignments. */
export async function deleteGroup(tx: Tx, environment: Environment, experiment: string, id: string): Promise<ExperimentGroup> {
  const parent = await lockExperiment(tx, environment, experiment)
  const group = await getGroup(tx, environment, experiment, id)
  refuseStarted(parent)
  if (group.offering_uid !== null) await dropVariant(tx, environment, id)
  await tx.query('delete from experiment_groups where environment = $1 and id = $2', [environment, id])
  return group
}

type Field = keyof GroupInput
/** Fields that also a running experiment may change. */
const ALWAYS: readonly Field[] = ['name', 'weight']

/**
 * Changes the given fields that differ. `offering_uid` is the id of a regular offering to copy; the id of the group's own copy leaves the copy
 * unchanged.
 */
export async function updateGroup(
  tx: Tx,
  environment: Environment,
  experiment: string,
  id: string,
  input: Partial<GroupInput>,
): Promise<Change<ExperimentGroup>> {
  const { status } = await lockExperiment(tx, environment, experiment)
  const before = await getGroup(tx, environment, experiment, id)
  const present: GroupInput = { ...before, weight: Number(before.weight) }
  const changed = (Object.keys(input) as Field[]).filter(field => input[field] !== undefined && input[field] !== present[field])
  if (changed.length === 0) return unchanged(before)
  if (status === 'finished') throw conflict('the groups of a finished experiment cannot be changed')
  const late = status === 'draft' ? undefined : changed.find(field => !ALWAYS.includes(field))
  if (late) throw conflict(`${late} can be changed in a draft only, the experiment is ${status}`)
  if (status !== 'draft' && input.weight === 0 && !(await hasOtherWeight(tx, environment, experiment, id)))
    throw conflict('the sum of the weights must stay above 0')

  const wanted = { ...before, ...Object.fromEntries(changed.map(field => [field, input[field]])) }
  if (changed.includes('remote_config_uid') && wanted.remote_config_uid !== null)
    await lockGroupConfiguration(tx, environment, wanted.remote_config_uid)
  if (changed.includes('offering_uid')) {
    const source = wanted.offering_uid
    if (source === null) await dropVariant(tx, environment, id)
    const variant = source === null ? null : await copyOffering(tx, environment, source, id)
    wanted.offering_uid = variant?.id ?? null
    wanted.offering_tag = variant?.tag ?? null
  }
  if (changed.includes('is_control') && input.is_control) await clearControl(tx, environment, experiment)
  const { rows } = await tx.query<ExperimentGroup>(
    `update experiment_groups set name = $3, is_control = $4, weight = $5, remote_config_uid = $6, offering_uid = $7, offering_tag = $8,
       updated_at = environment_now($1)
     where environment = $1 and id = $2 returning ${GROUP_COLUMNS}`,
    [environment, id, wanted.name, wanted.is_control, wanted.weight, wanted.remote_config_uid, wanted.offering_uid, wanted.offering_tag],
  )
  return { before, after: rows[0]! }
}

const hasOtherWeight = async (tx: Tx, environment: Environment, experiment: string, id: string): Promise<boolean> =>
  (await groupsOf(tx, environment, experiment)).some(group => group.id !== id && Number(group.weight) > 0)
