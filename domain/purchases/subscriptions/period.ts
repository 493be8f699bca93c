/** The store gave up charging, or ended the subscription for another reason of its own. */
export type OffCause = 'billing_error' | 'store'

/** The facts of one subscription period; times in ms. `chain.ts` derives everything else from the lineage. */
export type Period = {
  begins: number
  /** null: unknown, as posted events may omit it. The period then lasts until another fact ends it. */
  expires: number | null
  /** Free of charge. Otherwise it is a paid period when `paid`. */
  trial: boolean
  paid: boolean
  /** Of the last period: whether auto-renew is on. Of an earlier one: whether it was on when the period ended. */
  autoRenewing: boolean
  autoRenewOffAt: number | null
  /** When auto-renew was switched off, on, off … within the period. At its begin it is on. */
  autoRenewChanges: number[]
  /** Why auto-renew was switched off, each time; null or absent: by the customer, or for an unknown reason. */
  offCauses: (OffCause | null)[]
  /** The store calls the period a purchase and not a renewal. */
  isNewBuy: boolean
  retryAt: number | null
  graceUntil: number | null
  /** Time of a full refund. A partial refund does not change the period. */
  refundedAt: number | null
  /** Whether the end of the run was stated. Otherwise the end of a period alone does not tell whether a renewal follows. */
  endStated: boolean
  /** Of a connected store: the time of its last statement about the lineage. Null: nothing can be fetched from the store. */
  statedUntil: number | null
}

export const DAY_MS = 86_400_000
/** A renewal at most this long after the end belongs to the same run. */
export const JOIN_MS = DAY_MS
/** A connected store that has not reported something this long after it was due is taken not to report it. */
export const WORD_MS = 3 * DAY_MS
/** The last instant of a four-digit year, the latest time that the API accepts. */
export const LAST_MS = Date.parse('9999-12-31T23:59:59Z')
/** Duration of billing retry, unless the store reports another one. */
export const RETRY_MS = 60 * DAY_MS

/** Whether auto-renew was on at a time in the period. A prepaid period has no changes: it is off all the time. */
export function renewsAt({ begins, autoRenewing, autoRenewChanges }: Period, t: number): boolean {
  if (autoRenewChanges.length === 0) return autoRenewing
  return autoRenewChanges.filter(at => Math.max(at, begins) <= t).length % 2 === 0
}

/** Why auto-renew is off; null where it is on, and where the customer switched it off. */
export const offCauseOf = ({ autoRenewing, autoRenewChanges, offCauses }: Period): OffCause | null =>
  autoRenewing ? null : (offCauses[(autoRenewChanges.length - 1) / 2] ?? null)

/** A time in ms; null when there is none. */
export const parseTime = (time: string | null | undefined): number | null => (time == null ? null : Date.parse(time))
