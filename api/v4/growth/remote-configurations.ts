import { foldUsersFirst, foldUsersWithin } from '../../../domain/analytics/folding/fold-batch.ts'
import { shownCondition } from '../../../domain/audience/segments/condition.ts'
import {
  changeStatus,
  createConfiguration,
  deleteConfiguration,
  getConfiguration,
  listConfigurations,
  replaceConfiguration,
} from '../../../domain/growth/remote-configurations/configuration.ts'
import { evaluate, evaluateWithin } from '../../../domain/growth/remote-configurations/evaluate.ts'
import type { Configuration, JsonObject, PayloadType } from '../../../domain/growth/remote-configurations/lock.ts'
import { replaceMapping, replacePayload } from '../../../domain/growth/remote-configurations/payload.ts'
import { listPinnedUsers, type PinnedUser } from '../../../domain/growth/remote-configurations/pinned-users.ts'
import { usesOf } from '../../../domain/growth/remote-configurations/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { storable } from '../../../schemas/formats.ts'
import { rehearsal } from '../../../store/transaction.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, fullList, restartedHeader } from '../../pagination.ts'
import { pinConfiguration, unpinConfiguration } from '../../pins.ts'
import { usedBy } from '../../uses.ts'

const configuration = (row: Configuration) => ({
  object: 'remote_configuration' as const,
  id: row.id,
  url: `/v4/remote-configurations/${row.id}`,
  name: row.name,
  status: row.status,
  segment_percent: Number(row.segment_percent),
  segmentation_conditions: row.segmentation_conditions.map(shownCondition),
  context_key: row.context_key,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export const v4ListRemoteConfigurations = onPool('v4ListRemoteConfigurations', async ({ query, principal, environment, db }) => {
  const { limit, starting_after } = query
  const { rows, restarted } = await listConfigurations(db, environment, limit, starting_after)
  const ids = rows.slice(0, limit).map(({ id }) => id)
  const uses = await usesOf(db, environment, ids)
  const item = (row: Configuration) => ({ ...configuration(row), ...usedBy(uses.get(row.id), principal.scopes) })
  return { body: cursorPage({ url: '/v4/remote-configurations', rows, limit, item }), headers: restartedHeader(restarted) }
})

export const v4CreateRemoteConfiguration = inTransaction('v4CreateRemoteConfiguration', async ({ body, environment, tx, trail }) => {
  const made = configuration(await createConfiguration(tx, environment, body))
  await audit(tx, trail, { resource: 'remote_configuration', id: made.id, after: made })
  return { body: made }
})

export const v4GetRemoteConfiguration = onPool('v4GetRemoteConfiguration', async ({ path, principal, environment, db }) => {
  const row = await getConfiguration(db, environment, path.config_id)
  const uses = await usesOf(db, environment, [row.id])
  return { body: { ...configuration(row), ...usedBy(uses.get(row.id), principal.scopes), payload: row.payload } }
})

export const v4UpdateRemoteConfiguration = inTransaction('v4UpdateRemoteConfiguration', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await replaceConfiguration(tx, environment, path.config_id, body)
  if (before !== after)
    await audit(tx, trail, { resource: 'remote_configuration', id: after.id, before: configuration(before), after: configuration(after) })
  return { body: configuration(after) }
})

export const v4DeleteRemoteConfiguration = inTransaction('v4DeleteRemoteConfiguration', async ({ path, environment, tx, trail }) => {
  const before = await deleteConfiguration(tx, environment, path.config_id)
  await audit(tx, trail, { resource: 'remote_configuration', id: before.id, before: configuration(before) })
  return { body: undefined }
})

export const v4ChangeRemoteConfigurationStatus = inTransaction(
  'v4ChangeRemoteConfigurationStatus',
  async ({ path, body, environment, tx, trail }) => {
    const { before, after } = await changeStatus(tx, environment, path.config_id, body.status)
    if (before !== after)
      await audit(tx, trail, { resource: 'remote_configuration', id: after.id, before: configuration(before), after: configuration(after) })
    return { body: configuration(after) }
  },
)

const payload = (id: string, data: JsonObject) => ({
  object: 'remote_config_payload' as const,
  url: `/v4/remote-configurations/${id}/payload`,
  config_id: id,
  data,
})

const mapping = (id: string, data: Record<string, PayloadType>) => ({
  object: 'remote_config_payload_mapping' as const,
  url: `/v4/remote-configurations/${id}/payload-mapping`,
  config_id: id,
  data,
})

/** The validators refuse NUL and lone surrogates in every string of the description. A free document needs this check. */
function refuseUnstorable(value: unknown, field: string): void {
  if (typeof value === 'string' && !storable(value)) throw invalidField(field, 'must not hold NUL or a lone surrogate')
  if (Array.isArray(value))
    value.forEach((item, i) => {
      refuseUnstorable(item, `${field}[${i}]`)
    })
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      if (!storable(key)) throw invalidField(field, 'must not have a key with NUL or a lone surrogate')
      refuseUnstorable(inner, `${field}.${key}`)
    }
}

export const v4GetRemoteConfigurationPayload = onPool('v4GetRemoteConfigurationPayload', async ({ path, environment, db }) => ({
  body: payload(path.config_id, (await getConfiguration(db, environment, path.config_id)).payload),
}))

export const v4ReplaceRemoteConfigurationPayload = inTransaction(
  'v4ReplaceRemoteConfigurationPayload',
  async ({ path: { config_id }, body: { data }, environment, tx, trail }) => {
    refuseUnstorable(data, 'data')
    const { before, after } = await replacePayload(tx, environment, config_id, data)
    if (before !== after)
      await audit(tx, trail, {
        resource: 'remote_config_payload',
        id: config_id,
        before: payload(config_id, before),
        after: payload(config_id, after),
      })
    return { body: payload(config_id, after) }
  },
)

export const v4GetRemoteConfigurationPayloadMapping = onPool(
  'v4GetRemoteConfigurationPayloadMapping',
  async ({ path, environment, db }) => ({
    body: mapping(path.config_id, (await getConfiguration(db, environment, path.config_id)).payload_mapping),
  }),
)

export const v4SetRemoteConfigurationPayloadMapping = inTransaction(
  'v4SetRemoteConfigurationPayloadMapping',
  async ({ path: { config_id }, body: { data }, environment, tx, trail }) => {
    const { before, after } = await replaceMapping(tx, environment, config_id, data)
    if (before !== after)
      await audit(tx, trail, {
        resource: 'remote_config_payload_mapping',
        id: config_id,
        before: mapping(config_id, before),
        after: mapping(config_id, after),
      })
    return { body: mapping(config_id, after) }
  },
)

const pinned = ({ id, pinned_at }: PinnedUser) => ({ object: 'remote_config_user' as const, id, pinned_at })

export const v4ListRemoteConfigurationUsers = onPool(
  'v4ListRemoteConfigurationUsers',
  async ({ path: { config_id }, query: { limit, starting_after: after }, environment, db }) => {
    const { rows, restarted } = await listPinnedUsers(db, environment, config_id, { limit, after })
    const url = `/v4/remote-configurations/${config_id}/users`
    return { body: cursorPage({ url, rows, limit, item: pinned }), headers: restartedHeader(restarted) }
  },
)

export const v4AttachUserToRemoteConfiguration = inTransaction('v4AttachUserToRemoteConfiguration', async ({ path, tx, trail }) => {
  await pinConfiguration(tx, trail, { id: path.config_id, user: path.user_id })
  return { body: undefined }
})

export const v4DetachUserFromRemoteConfiguration = inTransaction('v4DetachUserFromRemoteConfiguration', async ({ path, tx, trail }) => {
  await unpinConfiguration(tx, trail, { id: path.config_id, user: path.user_id })
  return { body: undefined }
})

/** Both name the requests without a key. The validators compare the two as different values. */
function refuseSameKey(keys: readonly (string | null)[]): void {
  const [none, empty] = [keys.indexOf(null), keys.indexOf('')]
  if (none >= 0 && empty >= 0)
    throw invalidField(`context_keys[${Math.max(none, empty)}]`, 'must not repeat a key: null and "" are the same')
}

export const v4EvaluateUserRemoteConfigurations = onPool(
  'v4EvaluateUserRemoteConfigurations',
  async ({ path: { user_id }, body, environment, dryRun, db, deps }) => {
    const { context_keys: keys, attributes: overrides = {}, dry_run: decidesOnly = false } = body ?? {}
    refuseSameKey(keys ?? [])
    const serve = async () => {
      await foldUsersFirst(db, environment, [user_id], deps.listing)
      // `listing` plans once: planning these two statements takes twice as long as running them.
      return evaluate(deps.listing, environment, user_id, { keys, overrides })
    }
    // What is folded for the decision is undone with the rest.
    const decide = () =>
      rehearsal(db, async tx => {
        await foldUsersWithin(tx, environment, [user_id])
        return evaluateWithin(tx, environment, user_id, { keys, overrides })
      })
    const served = await (dryRun || decidesOnly ? decide() : serve())
    return {
      body: fullList(
        `/v4/users/${user_id}/remote-configurations`,
        served.map(({ context_key, payload, source, experiment }) => ({
          object: 'user_remote_configuration' as const,
          context_key,
          payload,
          source,
          experiment,
        })),
      ),
    }
  },
)
