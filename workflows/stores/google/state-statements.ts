import type { PeriodStatement, RenewalStatement, ReportedPeriod, ReportedRenewal } from '../../../domain/purchases/store-facts/statement.ts'
import { countryOf, secondOf, stated } from '../stated.ts'
import { isRenewalOrder } from './fetch-orders.ts'
import { idsOf } from './order-statements.ts'
import type { ChainLink, OwnedLine } from './subscription-chain.ts'
import { periodTime, priceOf } from './values.ts'

const STATE_PREFIX = 'SUBSCRIPTION_STATE_'
const STATES = ['ACTIVE', 'CANCELED', 'EXPIRED', 'IN_GRACE_PERIOD', 'ON_HOLD', 'PAUSED', 'PENDING', 'PENDING_PURCHASE_CANCELED'] as const
export type State = (typeof STATES)[number]

/** Null: Google states nothing, or an unknown value. */
export const stateOf = (word: string | undefined): State | null => STATES.find(state => `${STATE_PREFIX}${state}` === word) ?? null

/** Whether the subscription was paid for the first time: before that there is no purchase. */
export const isBought = (state: State | null): boolean => state !== 'PENDING' && state !== 'PENDING_PURCHASE_CANCELED'

/** The report about the last period from the state. `service`: the end in its order, if orders can be read. */
function lastPeriod({ answer, statedAt }: ChainLink, { expiryTime }: OwnedLine, service: string | undefined): ReportedPeriod {
  const expiry = periodTime(expiryTime)
  const state = stateOf(answer.subscriptionState)
  switch (state) {
    case 'ACTIVE':
      return stated({ ends: expiry, retrySince: null, graceUntil: null, graceOverAt: null })
    case 'IN_GRACE_PERIOD':
      return stated({ ends: service, graceUntil: expiry, graceOverAt: null, retrySince: service })
    case 'ON_HOLD':
      return stated({ ends: service ?? expiry, retrySince: service ?? expiry, graceOverAt: secondOf(statedAt) })
    case 'PAUSED':
      return stated({ ends: service ?? expiry, graceOverAt: secondOf(statedAt) })
    case 'CANCELED':
    case 'EXPIRED': {
      // After a failed charge the expiry is the end of the grace; the period itself ended before.
      const isByBilling = answer.canceledStateContext?.systemInitiatedCancellation !== undefined
      const isEarlier = service !== undefined && expiry !== undefined && service < expiry
      return stated({ ends: isByBilling && isEarlier ? service : expiry, graceOverAt: isEarlier ? expiry : undefined })
    }
    case null:
      return stated({ ends: expiry })
    case 'PENDING':
    case 'PENDING_PURCHASE_CANCELED':
      return {}
    default:
      throw state satisfies never
  }
}

/**
 * A purchase that another one replaces ends with the replacement, and reports nothing afterwards. A line may continue under the new
 * purchase with the same order, so the time of the statement is the end itself.
 */
export const isReplaced = ({ answer }: ChainLink): boolean => answer.canceledStateContext?.replacementCancellation !== undefined

const replacedAtOf = (link: ChainLink, line: OwnedLine): number => (isReplaced(link) ? Date.parse(line.expiryTime ?? '') : Number.NaN)

/** Later reports about a replaced purchase do not concern the lineage, which continues, even if the purchase had been cancelled before. */
export function replacedStatements(link: ChainLink, line: OwnedLine): RenewalStatement[] {
  const statedAt = replacedAtOf(link, line)
  if (Number.isNaN(statedAt)) return []
  const reported = { isReplaced: true, autoRenews: true, gaveUp: false } as const
  return [{ kind: 'renewal', origin: 'api', statedAt, subject: '', token: link.token, reported }]
}

export function lastPeriodStatement(link: ChainLink, line: OwnedLine, subject: string, service: string | undefined): PeriodStatement {
  const replacedAt = replacedAtOf(link, line)
  return {
    kind: 'period',
    origin: 'api',
    statedAt: Number.isNaN(replacedAt) ? link.statedAt : Math.min(link.statedAt, replacedAt),
    subject,
    ids: idsOf(link.token, subject.split(':')[0]!, subject),
    reported: lastPeriod(link, line, periodTime(service)),
  }
}

/** A pause begins at the end of a period. Until a later end is known, an active subscription may have a pause that Google does not show yet. */
function pausedIn(state: State | null, { expiryTime }: OwnedLine, statedAt: number): boolean | null | undefined {
  if (state === 'PAUSED') return true
  if (state === 'CANCELED' || state === 'EXPIRED') return null
  const goesOn = state === 'ACTIVE' && Date.parse(expiryTime ?? '') > statedAt
  return goesOn || state === 'IN_GRACE_PERIOD' || state === 'ON_HOLD' ? false : undefined
}

/** Who cancelled the subscription: the customer, the developer, or Google because the charge had failed. */
function reportedCause({ canceledStateContext: canceled }: ChainLink['answer']): ReportedRenewal {
  if (canceled?.userInitiatedCancellation) return { isVoluntary: true }
  if (canceled?.systemInitiatedCancellation) return { isVoluntary: false, hasFailed: true }
  return canceled?.developerInitiatedCancellation ? { isVoluntary: false } : {}
}

/**
 * Whether the subscription renews. Prepaid lines are never reported as switched off: that would be a cancellation. The cancellation has its
 * own time, which may be before the refresh that reports it.
 */
export function renewalStatements(link: ChainLink, line: OwnedLine, subject: string): RenewalStatement[] {
  if (isReplaced(link)) return []
  const { answer, statedAt } = link
  const state = stateOf(answer.subscriptionState)
  const isOn = line.autoRenewingPlan?.autoRenewEnabled === true && line.deferredItemRemoval === undefined
  // A pause is no cancellation, whatever becomes of auto-renew meanwhile.
  const autoRenews = line.autoRenewingPlan === undefined || (state === 'PAUSED' && !isOn) ? undefined : isOn
  const reported = stated<ReportedRenewal>({
    autoRenews,
    isPaused: pausedIn(state, line, statedAt),
    nextProduct: line.deferredItemReplacement?.productId ?? null,
    neverRenews: line.prepaidPlan !== undefined ? true : line.autoRenewingPlan ? false : undefined,
    gaveUp: state === null || state === 'CANCELED' ? undefined : state === 'EXPIRED',
    ...reportedCause(answer),
  })
  const common = { kind: 'renewal', origin: 'api', subject } as const
  const canceledAt = Date.parse(answer.canceledStateContext?.userInitiatedCancellation?.cancelTime ?? '')
  const off = Number.isNaN(canceledAt) || autoRenews !== false ? [] : [{ ...common, statedAt: canceledAt, reported: { autoRenews: false } }]
  return [...off, { ...common, statedAt, reported }]
}

/**
 * The one period of a line whose orders cannot be read: from the first day to the end, under the id of the first order, so that renewals
 * extend it. The end during a grace period is the weakest statement, because Google shows only the end of the grace period.
 */
export function unchargedStatements(link: ChainLink, line: OwnedLine, subject: string, isMain: boolean): PeriodStatement[] {
  const { answer, statedAt, token } = link
  const begins = periodTime(answer.startTime)
  const isTrial = line.offerPhase?.freeTrial !== undefined && !isRenewalOrder(line.latestSuccessfulOrderId)
  const price = priceOf(line.autoRenewingPlan?.recurringPrice)
  const order = subject.split(':')[0]!
  const common = { kind: 'period', origin: 'api', subject, ids: idsOf(token, order, isMain ? order : subject) } as const
  const reported = stated<ReportedPeriod>({
    product: line.productId,
    basePlan: line.offerDetails?.basePlanId ?? null,
    isSubscription: true,
    currency: price?.currency,
    price: isTrial && price ? '0' : price?.price,
    begins,
    periodType: isTrial ? 'trial' : line.offerPhase?.introductoryPrice ? 'intro' : 'normal',
    country: countryOf(answer.regionCode),
  })
  const ends = periodTime(line.expiryTime)
  const weak = ends !== undefined && begins !== undefined ? [{ ...common, statedAt: Date.parse(begins), reported: { ends } }] : []
  return [{ ...common, statedAt, reported }, ...weak, lastPeriodStatement(link, line, subject, undefined)]
}
