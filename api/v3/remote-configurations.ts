import { foldUsersFirst } from '../../domain/analytics/folding/fold-batch.ts'
import { evaluate } from '../../domain/growth/remote-configurations/evaluate.ts'
import { transaction } from '../../store/transaction.ts'
import { pinConfiguration, unpinConfiguration } from '../pins.ts'
import { invalidV3 } from './errors.ts'
import { onUser, type UserCall } from './operation.ts'

type Served = Awaited<ReturnType<typeof evaluate>>[number]

/** Where the payload comes from. The SDKs drop an answer without it, so a group without a payload is its own source. */
function sourceOf({ source, experiment, isPinned }: Served): Served['source'] {
  if (source !== null || experiment === null) return source
  const { uid, name, type } = experiment.group
  return { uid, name: name ?? '', assignment_type: isPinned ? 'manual' : 'auto', type: `experiment_${type}_group` }
}

const remoteConfig = (served: Served, source = sourceOf(served)) => ({
  payload: served.payload,
  ...(source && { source: { ...source, context_key: served.context_key ?? '' } }),
  ...(served.experiment && {
    experiment: { uid: served.experiment.uid, name: served.experiment.name, group: group(served.experiment.group) },
  }),
})
const group = ({ uid, name, type }: NonNullable<Served['experiment']>['group']) => ({ uid, name: name ?? '', type })

/** `keys` undefined: all that have a configuration or an experiment. */
async function served(
  { user, environment, db, deps }: UserCall<'v3GetRemoteConfig' | 'v3ListRemoteConfigs'>,
  keys: string[] | undefined,
): Promise<Served[]> {
  await foldUsersFirst(db, environment, [user.id], deps.listing)
  // As in v4, on connections that plan once.
  return evaluate(deps.listing, environment, user.id, { keys, overrides: {} })
}

export const v3GetRemoteConfig = onUser('v3GetRemoteConfig', async call => {
  const [only] = await served(call, [call.query.context_key ?? ''])
  return remoteConfig(only!)
})

/** The requested keys, the empty one first; undefined: all. */
function keysOf({ all_context_keys, context_key = [], with_empty_context_key }: UserCall<'v3ListRemoteConfigs'>['query']) {
  if (all_context_keys) return undefined
  if (context_key.length === 0 && !with_empty_context_key)
    throw invalidV3([{ field: 'context_key', message: 'is required, unless all_context_keys or with_empty_context_key is true' }])
  const wantsEmptyKey = with_empty_context_key || context_key.includes('')
  return [...new Set([...(wantsEmptyKey ? [''] : []), ...context_key])]
}

export const v3ListRemoteConfigs = onUser('v3ListRemoteConfigs', async call =>
  (await served(call, keysOf(call.query))).filter(one => sourceOf(one) !== null).map(one => remoteConfig(one)),
)

export const v3AttachUserToRemoteConfiguration = onUser('v3AttachUserToRemoteConfiguration', async ({ path, user, trail, db }) => {
  await transaction(db, tx => pinConfiguration(tx, trail, { id: path.id, user: user.id }))
  return {}
})

export const v3DetachUserFromRemoteConfiguration = onUser('v3DetachUserFromRemoteConfiguration', async ({ path, user, trail, db }) => {
  await transaction(db, tx => unpinConfiguration(tx, trail, { id: path.id, user: user.id }))
  return {}
})
