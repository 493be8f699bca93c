import { scaled } from '../../kernel/decimal.ts'
import type { Detail } from '../../kernel/refusal.ts'
import type { UseKind } from './uses.ts'

export type EntityType = 'campaign' | 'ad_group' | 'keyword'
export type ChangedField = 'status' | 'bid' | 'daily_budget'
/** `campaign` and `adGroup`: ids of those above the entity. `org`: whose amounts and permissions count. */
export type EntityTarget = { type: EntityType; id: string; campaign: string; adGroup: string | null; org: string }
/** One change of one field. `before`: what the caller believes to be the present value. */
export type EntityChange = { field: ChangedField; before: string; after: string }

/** `currency`: of the present amount. */
export type SentChange = { field: ChangedField; after: string; currency: string }
/** What is sent to Apple. */
export type AppleCall = { method: 'PUT'; path: string; body: unknown }
type Failed = { is: 'absent' | 'refused' | 'unavailable' | 'timeout'; why: string }
/** `unavailable` and `timeout`: whether Apple made the change is unknown. */
export type SendResult = { is: 'applied' } | Failed

/**
 * Reads and changes entities at Apple, with the settings of an integration. Never throws for what Apple does, nor when the signal aborts:
 * that is a `timeout`.
 */
export type AppleAdsEntities = {
  present(
    settings: Record<string, unknown>,
    target: EntityTarget,
    field: ChangedField,
    signal: AbortSignal,
  ): Promise<{ is: 'value'; value: string | null; currency: string } | Failed>
  /** What is sent for the change. */
  callOf(target: EntityTarget, change: SentChange): AppleCall
  send(settings: Record<string, unknown>, target: EntityTarget, change: SentChange, signal: AbortSignal): Promise<SendResult>
}

export type UpdateInput = {
  entity_type: EntityType
  entity_id: string
  campaign_id?: string | undefined
  ad_group_id?: string | undefined
  status?: 'enabled' | 'paused' | undefined
  before_status?: 'enabled' | 'paused' | undefined
  bid?: string | undefined
  before_bid?: string | undefined
  daily_budget?: string | undefined
  before_daily_budget?: string | undefined
}

const FIELDS: Record<EntityType, readonly ChangedField[]> = {
  campaign: ['status', 'daily_budget'],
  ad_group: ['status', 'bid'],
  keyword: ['status', 'bid'],
}
const PARENTS: Record<EntityType, readonly ('campaign_id' | 'ad_group_id')[]> = {
  campaign: [],
  ad_group: ['campaign_id'],
  keyword: ['campaign_id', 'ad_group_id'],
}

/** The change of a request, or all of its faults. */
export function changeIn(input: UpdateInput): { change: EntityChange } | { faults: Detail[] } {
  const faults: Detail[] = []
  for (const parent of ['campaign_id', 'ad_group_id'] as const) {
    const isNeeded = PARENTS[input.entity_type].includes(parent)
    if (isNeeded !== (input[parent] !== undefined))
      faults.push({ field: parent, message: `${isNeeded ? 'is required' : 'is not allowed'} for the entity type ${input.entity_type}` })
  }
  const given = (['status', 'bid', 'daily_budget'] as const).filter(field => input[field] !== undefined)
  const [field] = given
  if (field === undefined || given.length > 1)
    faults.push({ field: 'body', message: 'must have exactly one of status, bid and daily_budget' })
  for (const one of ['status', 'bid', 'daily_budget'] as const) {
    const before = `before_${one}` as const
    if (input[one] !== undefined && !FIELDS[input.entity_type].includes(one))
      faults.push({ field: one, message: `is not possible for the entity type ${input.entity_type}` })
    if ((input[one] !== undefined) !== (input[before] !== undefined))
      faults.push({ field: before, message: input[before] === undefined ? `is required with ${one}` : `is allowed with ${one} only` })
    if (one !== 'status' && input[one] !== undefined && /^[0.]*$/.test(input[one]))
      faults.push({ field: one, message: 'must be more than 0' })
  }
  if (faults.length > 0 || field === undefined) return { faults }
  return { change: { field, before: input[`before_${field}`]!, after: input[field]! } }
}

const numberOf = (text: string): bigint => scaled(text, 10)

/** Whether two values of a field are the same: 1.5 is 1.50. */
export const isSame = (field: ChangedField, a: string, b: string): boolean => (field === 'status' ? a === b : numberOf(a) === numberOf(b))

/** An amount may become three times the present one at most. */
export const isBeyondRaise = ({ field, after }: EntityChange, present: string): boolean =>
  field !== 'status' && numberOf(after) > 3n * numberOf(present)

/** The limit of 24 hours in which a change counts; null: none. */
export function useOf({ field, after }: EntityChange, present: string): UseKind | null {
  if (field === 'status') return after === 'enabled' ? 'enable' : null
  if (numberOf(after) <= numberOf(present)) return null
  return field === 'bid' ? 'raise_bid' : 'raise_budget'
}
