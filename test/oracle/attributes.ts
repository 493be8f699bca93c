import type { History, Instant, Posted, Purchase } from './history.ts'
import { productOf } from './mrr.ts'
import type { Transaction } from './transactions.ts'

/** What segments a chart. */
export const SEGMENTATIONS = [
  'target_platform',
  'product_id',
  'purchase_currency',
  'country',
  'app_version',
  'locale',
  'media_source_name',
  'campaign_name',
] as const
export type Attribute = (typeof SEGMENTATIONS)[number] | 'device_id' | 'segment_id' | 'experiment_group_id'
export const PURCHASE_ATTRIBUTES: Attribute[] = ['target_platform', 'product_id', 'purchase_currency']

type Known = 'store' | 'country' | 'appVersion' | 'locale' | 'mediaSource' | 'campaign' | 'device'
type Arrival = Purchase | Posted

const ownTime = (arrival: Arrival): Instant => (arrival.is === 'purchase' ? arrival.purchasedAt : arrival.happenedAt)

function carried(arrival: Arrival, known: Known): string | null {
  if (arrival.is === 'event') return arrival[known]
  return known === 'store' || known === 'country' ? arrival[known] : null
}

const byOwnTime = (arrivals: Arrival[]): Arrival[] => arrivals.toSorted((a, b) => ownTime(a) - ownTime(b))
const carrying = (history: History, user: string, known: Known): Arrival[] =>
  history.arrivals.filter(arrival => arrival.user === user && carried(arrival, known) !== null)

function firstKnown(history: History, user: string, known: Known): string | null {
  const first = byOwnTime(carrying(history, user, known))[0]
  return first ? carried(first, known) : null
}

function lastKnown(history: History, user: string, known: Known): string | null {
  const last = byOwnTime(carrying(history, user, known)).at(-1)
  return last ? carried(last, known) : null
}

/** Its own, else the last known when it was recorded, else the first that was learned later. So a later update of the app moves no history. */
function knownAt(history: History, arrival: Arrival, known: Known): string | null {
  const own = carried(arrival, known)
  if (own !== null) return own
  const here = history.arrivals.indexOf(arrival)
  const all = carrying(history, arrival.user, known)
  const last = byOwnTime(all.filter(one => history.arrivals.indexOf(one) < here)).at(-1)
  const learned = last ?? all.find(one => history.arrivals.indexOf(one) > here)
  return learned ? carried(learned, known) : null
}

const UNKNOWN = 'unknown'

export function valueOfTransaction(history: History, transaction: Transaction, attribute: Attribute): string {
  const { source, user } = transaction
  switch (attribute) {
    case 'target_platform':
      return transaction.store
    case 'product_id':
      return productOf(history, transaction)?.id ?? transaction.product ?? UNKNOWN
    case 'purchase_currency':
      return transaction.currency ?? UNKNOWN
    case 'country':
      return knownAt(history, source, 'country') ?? UNKNOWN
    case 'app_version':
      return knownAt(history, source, 'appVersion') ?? UNKNOWN
    case 'locale':
      return knownAt(history, source, 'locale') ?? UNKNOWN
    default:
      return valueOfUser(history, user, attribute)
  }
}

export function valueOfUser(history: History, user: string, attribute: Attribute): string {
  switch (attribute) {
    case 'target_platform':
      return firstKnown(history, user, 'store') ?? UNKNOWN
    case 'country':
      return firstKnown(history, user, 'country') ?? UNKNOWN
    case 'app_version':
      return firstKnown(history, user, 'appVersion') ?? UNKNOWN
    case 'locale':
      return firstKnown(history, user, 'locale') ?? UNKNOWN
    case 'media_source_name':
      return firstKnown(history, user, 'mediaSource') ?? UNKNOWN
    case 'campaign_name':
      return firstKnown(history, user, 'campaign') ?? UNKNOWN
    case 'device_id':
      return lastKnown(history, user, 'device') ?? UNKNOWN
    default:
      throw new RangeError(`${attribute} is no attribute of users`)
  }
}

/** Values of one attribute are alternatives, attributes must all agree. */
export type Filters = Partial<Record<Attribute, string[]>>

const setsOf = (history: History, attribute: string): Record<string, string[]> | undefined =>
  ({ segment_id: history.segments, experiment_group_id: history.experimentGroups })[attribute]

function passes(filters: Filters, history: History, user: string, having: (attribute: Attribute) => string): boolean {
  return Object.entries(filters).every(([attribute, values]) => {
    const sets = setsOf(history, attribute)
    return sets ? values.some(name => sets[name]?.includes(user)) : values.includes(having(attribute as Attribute))
  })
}

export const transactionPasses = (history: History, filters: Filters) => (transaction: Transaction) =>
  passes(filters, history, transaction.user, attribute => valueOfTransaction(history, transaction, attribute))

export const userPasses = (history: History, filters: Filters) => (user: string) =>
  passes(filters, history, user, attribute => valueOfUser(history, user, attribute))

/** Active users are counted without regard to what is bought. */
export const activeUserPasses = (history: History, filters: Filters) =>
  userPasses(history, Object.fromEntries(Object.entries(filters).filter(([name]) => !PURCHASE_ATTRIBUTES.includes(name as Attribute))))

/** The transaction that classifies a user in cohorts. */
export function classOf(history: History, user: string, transactions: Transaction[]): (attribute: Attribute) => string {
  const first = transactions.filter(transaction => transaction.user === user).toSorted((a, b) => a.at - b.at)[0]
  return attribute => {
    if (first) return valueOfTransaction(history, first, attribute)
    return attribute === 'product_id' || attribute === 'purchase_currency' ? UNKNOWN : valueOfUser(history, user, attribute)
  }
}
export const membersPass = (history: History, filters: Filters, transactions: Transaction[]) => (user: string) =>
  passes(filters, history, user, classOf(history, user, transactions))
