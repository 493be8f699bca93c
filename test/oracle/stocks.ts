import { transactionPasses } from './attributes.ts'
import { type Exact, exact, minus, order, sum, times, ZERO } from './exact.ts'
import { type Fact, moved, mrrSteps, type Step, scaled } from './facts.ts'
import type { Instant } from './history.ts'
import { mrrAt } from './mrr.ts'
import { type Chart, flow } from './series.ts'
import { type StateAtTime, stateAt } from './state.ts'

export function mrrStock(label: string, by: Exact): Chart['series'] {
  return (world, { conversion, filters }) => {
    const passes = transactionPasses(world.history, filters)
    const all = (t: Instant) =>
      world.subscriptions.map(subscription => mrrAt(world.history, conversion, subscription, t, period => passes(period.transaction)))
    return [
      {
        kind: 'stock',
        label,
        at: t => times(sum(all(t).map(one => one.m)), by),
        leftOut: t => all(t).flatMap(one => (one.unconverted ? [{ transaction: one.unconverted, amount: one.unconverted.amount }] : [])),
      },
    ]
  }
}

const isNothing = (value: Exact): boolean => order(value, ZERO) === 0
const isUp = (before: Exact, after: Exact): boolean => order(minus(after, before), ZERO) > 0

export function mrrMovement(by: Exact): Chart['series'] {
  return (world, question) => {
    const steps: Step[] = mrrSteps(world, question)
    const part = (label: string, which: (before: Exact, after: Exact) => boolean) => {
      const facts = scaled(moved(steps, which), by)
      return flow(label, label === 'New' ? [...facts, ...leftOutSteps(steps)] : facts)
    }
    return [
      part('New', (before, after) => isNothing(before) && isUp(before, after)),
      part('Expansion', (before, after) => !isNothing(before) && isUp(before, after)),
      part('Contraction', (before, after) => !isNothing(after) && isUp(after, before)),
      part('Churn', (before, after) => isNothing(after) && isUp(after, before)),
    ]
  }
}

const leftOutSteps = (steps: Step[]): Fact[] =>
  steps.flatMap(({ at, leftOut }) =>
    (['before', 'after'] as const).flatMap(side => {
      const transaction = leftOut[side]
      return transaction ? [{ at, value: ZERO, leftOut: { transaction, amount: transaction.amount, isBefore: side === 'before' } }] : []
    }),
  )

const stockOf = (label: string, isMeant: (one: StateAtTime) => boolean): Chart['series'] => {
  return (world, { filters }) => {
    const passes = transactionPasses(world.history, filters)
    const at = (t: Instant) => {
      const states = world.subscriptions.map(subscription => stateAt(subscription, t))
      return exact(states.filter(one => one && isMeant(one) && passes(one.period.transaction)).length)
    }
    return [{ kind: 'stock', label, at }]
  }
}

/** Subscriptions in a state, by auto-renew. */
export function stockIn(state: 'paid' | 'trial'): Chart['series'] {
  const on = stockOf('Auto-renew on', one => one.state === state && one.isRenewing)
  const off = stockOf('Auto-renew off', one => one.state === state && !one.isRenewing)
  return (world, question) => [...on(world, question), ...off(world, question)]
}

export const stockInGrace = stockOf('In grace', one => one.state === 'grace')
