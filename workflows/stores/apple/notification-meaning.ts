/**
 * The meaning that the type of a notification adds to its transaction and renewal info. recovered: the charge had failed before. upgrade:
 * the period ends the period before it. switched: auto-renew was switched. retry, graceOver, ended: the charge failed, the grace period
 * ended without a charge, Apple gave up. refunded, refundReversed, revoked: the transaction was. consumptionRequested, refundDeclined: an
 * event by itself.
 */
export type AppleAddition =
  | 'nothing'
  | 'recovered'
  | 'upgrade'
  | 'switched'
  | 'retry'
  | 'graceOver'
  | 'ended'
  | 'refunded'
  | 'refundReversed'
  | 'revoked'
  | 'consumptionRequested'
  | 'refundDeclined'

/** `refresh`: the notification alone does not suffice. `isOfLast`: the transaction is the last of its lineage, to which renewal info refers. */
export type NotificationMeaning = { adds: AppleAddition; refresh: boolean; isOfLast: boolean }

const meaning = (adds: AppleAddition, { refresh = false, isOfLast = true } = {}): NotificationMeaning => ({ adds, refresh, isOfLast })

const ANY_TRANSACTION = { isOfLast: false }
const REFRESHED = { refresh: true }

/** By type, or by type and subtype where the subtype changes the meaning. Types that are not in the table are ignored. */
const MEANINGS = new Map<string, NotificationMeaning>([
  ['SUBSCRIBED', meaning('nothing')],
  ['OFFER_REDEEMED', meaning('nothing')],
  ['OFFER_REDEEMED UPGRADE', meaning('upgrade', REFRESHED)],
  ['DID_RENEW', meaning('nothing')],
  ['DID_RENEW BILLING_RECOVERY', meaning('recovered')],
  ['ONE_TIME_CHARGE', meaning('nothing')],
  ['DID_CHANGE_RENEWAL_PREF', meaning('nothing')],
  ['DID_CHANGE_RENEWAL_PREF UPGRADE', meaning('upgrade', REFRESHED)],
  ['DID_CHANGE_RENEWAL_STATUS', meaning('switched')],
  ['DID_FAIL_TO_RENEW', meaning('retry')],
  ['GRACE_PERIOD_EXPIRED', meaning('graceOver')],
  ['EXPIRED', meaning('ended')],
  ['REFUND', meaning('refunded', ANY_TRANSACTION)],
  ['REFUND_REVERSED', meaning('refundReversed', ANY_TRANSACTION)],
  ['REVOKE', meaning('revoked', ANY_TRANSACTION)],
  ['REFUND_DECLINED', meaning('refundDeclined', ANY_TRANSACTION)],
  ['CONSUMPTION_REQUEST', meaning('consumptionRequested', ANY_TRANSACTION)],
  ['RENEWAL_EXTENDED', meaning('nothing')],
  ['RENEWAL_EXTENSION FAILURE', meaning('nothing', REFRESHED)],
  ['PRICE_INCREASE', meaning('nothing')],
  ['PRICE_CHANGE', meaning('nothing')],
  ['MIGRATION', meaning('nothing', REFRESHED)],
  ['METADATA_UPDATE', meaning('nothing')],
])

/** Null: the notification is ignored. */
export const meaningOf = (type: string, subtype: string | null): NotificationMeaning | null =>
  MEANINGS.get(`${type} ${subtype}`) ?? MEANINGS.get(type) ?? null
