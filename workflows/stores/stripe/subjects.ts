import type { TransactionIds } from '../../../domain/purchases/store-facts/statement.ts'

/** The form of Stripe's ids: no other text of a caller may get into the path of an address. */
export const isStripeId = (id: string): boolean => /^\w{1,255}$/.test(id)

/** The first item of a subscription has the subscription's lineage; every other item has its own. */
export const itemLineage = (subscription: string, item: string, isMain: boolean): string =>
  isMain ? subscription : `${subscription}:${item}`

/**
 * A transaction is the part of an invoice that is about one item. `begins` in seconds: the beginning of a further period that the invoice
 * has of the item, for example when a change is charged with the renewal after it; null: the only or regular period.
 */
export const invoiceSubject = (invoice: string, item: string, isMain: boolean, begins: number | null): string =>
  [invoice, ...(isMain ? [] : [item]), ...(begins === null ? [] : [String(begins)])].join(':')

export const invoiceIds = (subscription: string, invoice: string, subject: string): TransactionIds => ({
  transaction: subject === invoice ? null : subject,
  originalTransaction: null,
  token: null,
  order: invoice,
  subscription,
  storeType: null,
})
