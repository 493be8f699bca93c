import {
  type AppleAdsEntities,
  type AppleCall,
  type ChangedField,
  type EntityTarget,
  isSame,
  type SentChange,
} from '../../domain/integrations/apple-ads/change.ts'
import { type AdsAnswer, type AppleAds, type AppleRequest, unexpected } from './client.ts'
import { credentialsOf } from './credentials.ts'
import { entityStatusOf } from './reports.ts'

const pathOf = ({ type, id, campaign, adGroup }: EntityTarget): string => {
  const ofCampaign = `/campaigns/${campaign}`
  if (type === 'campaign') return ofCampaign
  return type === 'ad_group' ? `${ofCampaign}/adgroups/${id}` : `${ofCampaign}/adgroups/${adGroup}/targetingkeywords/${id}`
}

const AMOUNTS = { campaign: 'dailyBudgetAmount', ad_group: 'defaultBidAmount', keyword: 'bidAmount' } as const

type Entity = Record<string, unknown>

/** The entity in an answer: alone, or among those of a change of many; null: it is not there. */
function entityIn(data: unknown, { id }: EntityTarget): Entity | null {
  const all: unknown[] = Array.isArray(data) ? data : [data]
  return all.find((one): one is Entity => typeof one === 'object' && one !== null && String((one as Entity).id) === id) ?? null
}

function valueIn(entity: Entity, { type }: EntityTarget, field: ChangedField): { value: string | null; currency: string } {
  if (field === 'status') return { value: entityStatusOf(entity.status, entity.deleted), currency: '' }
  const { amount, currency } = (entity[AMOUNTS[type]] ?? {}) as Record<string, unknown>
  const text = typeof amount === 'number' ? String(amount) : amount
  return { value: typeof text === 'string' && /^\d+(\.\d+)?$/.test(text) ? text : null, currency: String(currency ?? '') }
}

type Refused = { is: 'absent' | 'refused' | 'unavailable' | 'timeout'; why: string }

function refusedBy(answer: Exclude<AdsAnswer, { is: 'data' }>): Refused {
  switch (answer.is) {
    case 'absent':
      return { is: 'absent', why: answer.why }
    case 'credentials':
    case 'permission':
    case 'refused':
      return { is: 'refused', why: answer.why }
    case 'unknown':
      return { is: answer.isTimeout ? 'timeout' : 'unavailable', why: answer.why }
    default:
      return answer satisfies never
  }
}

/** Apple's ids are numbers; one that a number cannot hold is sent as it is. */
const idOf = (id: string): number | string => (Number.isSafeInteger(Number(id)) ? Number(id) : id)

/** Asks with the settings of an integration. */
async function asked(
  appleAds: AppleAds,
  settings: Record<string, unknown>,
  request: AppleRequest & { signal: AbortSignal },
): Promise<AdsAnswer> {
  const credentials = credentialsOf(settings)
  if (!credentials) return { is: 'refused', why: 'the integration has no credentials' }
  try {
    return await appleAds.request(credentials, request)
  } catch (error) {
    if (!request.signal.aborted) throw error
    return { is: 'unknown', why: 'timeout', isTimeout: true, afterSeconds: null, wasSent: true }
  }
}

function callOf(target: EntityTarget, { field, after, currency }: SentChange): AppleCall {
  const { type, id, campaign, adGroup } = target
  const status = after === 'paused' ? 'PAUSED' : type === 'keyword' ? 'ACTIVE' : 'ENABLED'
  const change = field === 'status' ? { status } : { [AMOUNTS[type]]: { amount: after, currency } }
  if (type === 'campaign') return { method: 'PUT', path: pathOf(target), body: { campaign: change } }
  if (type === 'ad_group') return { method: 'PUT', path: pathOf(target), body: change }
  const path = `/campaigns/${campaign}/adgroups/${adGroup}/targetingkeywords/bulk`
  return { method: 'PUT', path, body: [{ id: idOf(id), ...change }] }
}

export const appleAdsEntities = (appleAds: AppleAds): AppleAdsEntities => ({
  async present(settings, target, field, signal) {
    const answer = await asked(appleAds, settings, { method: 'GET', path: pathOf(target), org: target.org, signal })
    if (answer.is !== 'data') return refusedBy(answer)
    const entity = entityIn(answer.data, target)
    return entity ? { is: 'value', ...valueIn(entity, target, field) } : refusedBy(unexpected('another entity'))
  },

  callOf,

  async send(settings, target, change, signal) {
    const answer = await asked(appleAds, settings, { ...callOf(target, change), org: target.org, signal })
    if (answer.is !== 'data') return refusedBy(answer)
    const entity = entityIn(answer.data, target)
    if (!entity) return refusedBy(unexpected('another entity'))
    const { value } = valueIn(entity, target, change.field)
    return value === null || isSame(change.field, value, change.after) ? { is: 'applied' } : refusedBy(unexpected(`the value is ${value}`))
  },
})
