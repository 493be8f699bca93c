import type { History } from './history.ts'
import { type Period, type Run, runWith, type Subscription, subscriptionsOf } from './subscriptions.ts'
import { type Transaction, transactionsOf } from './transactions.ts'

export type Kind = 'trial' | 'start' | 'conversion' | 'renewal' | 'one-time'

/** A transaction with what its subscription makes of it. */
export type Charged = {
  transaction: Transaction
  kind: Kind
  /** Null: one-time. */
  subscription: Subscription | null
  period: Period | null
  run: Run | null
}

export type World = { history: History; charged: Charged[]; subscriptions: Subscription[] }

function kindOf(period: Period, run: Run): Kind {
  if (!period.isPaid) return 'trial'
  const before = run.periods.slice(0, run.periods.indexOf(period))
  if (before.some(one => one.isPaid)) return 'renewal'
  return before.length > 0 ? 'conversion' : 'start'
}

export function worldOf(history: History): World {
  const transactions = transactionsOf(history)
  const subscriptions = subscriptionsOf(transactions, history.now)
  const charged = transactions.map((transaction): Charged => {
    const subscription = subscriptions.find(one => one.key === transaction.subscription) ?? null
    const period = subscription?.periods.find(one => one.transaction === transaction) ?? null
    if (!subscription || !period) return { transaction, kind: 'one-time', subscription: null, period: null, run: null }
    const run = runWith(subscription, period)
    return { transaction, kind: kindOf(period, run), subscription, period, run }
  })
  return { history, charged, subscriptions }
}

export const isPaid = ({ kind }: Charged): boolean => kind !== 'trial'
export const isNew = ({ kind }: Charged): boolean => kind === 'start' || kind === 'conversion'

/** The first payment that a trial led to, in its own run. */
export function conversionOf(world: World, trial: Charged): Charged | undefined {
  const later = trial.run!.periods.slice(trial.run!.periods.indexOf(trial.period!))
  return world.charged.find(one => one.period !== null && later.includes(one.period) && one.kind === 'conversion')
}

/** Of a run: auto-renew is off, or billing was given up. Of a trial: auto-renew is off, while nothing has joined it. */
export function isCancelled(world: World, { period, run, kind }: Charged): boolean {
  if (kind === 'trial' && period !== run!.periods.at(-1)) return false
  const at = kind === 'trial' ? period!.transaction.offAt : run!.cancelledAt
  return at !== null && at <= world.history.now
}

/** The user's transactions that can be an anchor. */
export const transactionsBy = (world: World, user: string): Charged[] =>
  world.charged.filter(one => one.transaction.user === user).toSorted((a, b) => a.transaction.at - b.transaction.at)
