import { audit } from '../../domain/audit/record.ts'
import { invalidField } from '../../domain/refusal.ts'
import { getConfiguration } from '../../domain/remote-configurations/configuration.ts'
import type { JsonObject, PayloadType } from '../../domain/remote-configurations/lock.ts'
import { replaceMapping, replacePayload } from '../../domain/remote-configurations/payload.ts'
import { storable } from '../../schemas/formats.ts'
import { inTransaction, onPool } from '../operation.ts'

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

/** The description cannot say of a free document what it says of every other string: no NUL, no lone surrogate. */
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
