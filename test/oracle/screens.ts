import { type Exact, exact, order, over, shown, ZERO } from './exact.ts'
import { amounts, type Fact, refunds } from './facts.ts'
import { DAY, type Instant, type Posted } from './history.ts'
import type { Conversion } from './rates.ts'
import { totalOf } from './series.ts'
import { bucketsOf, preceding, type Unit, type Window } from './windows.ts'
import { type Charged, isCancelled, isNew, type World } from './world.ts'

export type ScreenQuestion = { window: Window; unit: Unit; zone?: string; conversion: Conversion }

const IMPRESSION = 'screen_shown'
const VIEW = 'screen_interacted'
const SEEN_WITHIN = DAY

const shows = (world: World, name: string): Posted[] =>
  world.history.arrivals.filter(arrival => arrival.is === 'event').filter(event => event.name === name && event.shownScreen !== null)

function seenBefore(world: World, user: string, at: Instant): string | null {
  const seen = [...shows(world, IMPRESSION), ...shows(world, VIEW)].filter(
    event => event.user === user && event.happenedAt <= at && at - event.happenedAt <= SEEN_WITHIN,
  )
  return seen.toSorted((a, b) => a.happenedAt - b.happenedAt).at(-1)?.shownScreen ?? null
}

/** The screen that sold; null: none. Renewals belong to none. */
function screenOf(world: World, one: Charged): string | null {
  if (one.kind === 'renewal') return null
  if (one.kind === 'conversion') {
    const before = one.run!.periods.slice(0, one.run!.periods.indexOf(one.period!)).findLast(period => !period.isPaid)!
    return screenOf(world, world.charged.find(other => other.period === before)!)
  }
  return one.transaction.screen ?? seenBefore(world, one.transaction.user, one.transaction.at)
}

type Which = (screen: string | null) => boolean

function parts(world: World, conversion: Conversion, which: Which) {
  const belongs = (one: Charged) => which(screenOf(world, one))
  const isPurchase = (one: Charged) => isNew(one) || one.kind === 'one-time'
  const number = (is: (one: Charged) => boolean): Fact[] =>
    world.charged
      .filter(one => is(one) && belongs(one) && one.transaction.at <= world.history.now)
      .map(one => ({ at: one.transaction.at, value: exact(1) }))
  const seen = (name: string): Fact[] =>
    shows(world, name)
      .filter(event => which(event.shownScreen) && event.happenedAt <= world.history.now)
      .map(event => ({ at: event.happenedAt, value: exact(1) }))
  const cancellable = (one: Charged) => one.kind === 'trial' || one.kind === 'start'
  const sold = (one: Charged) => isPurchase(one) && belongs(one)
  return {
    impressions: seen(IMPRESSION),
    views: seen(VIEW),
    trials: number(one => one.kind === 'trial'),
    purchases: number(isPurchase),
    revenue: amounts(world, { conversion, filters: {} }, sold),
    refunds: refunds(world, { conversion, filters: {} }, sold),
    cancellable: number(cancellable),
    cancelled: number(one => cancellable(one) && isCancelled(world, one)),
  }
}

/** The currencies of what could not be converted in the window. */
function leftOut(facts: Fact[], { from, to }: Window) {
  const missing = facts.filter(fact => fact.at >= from && fact.at < to).flatMap(fact => fact.leftOut ?? [])
  return [...new Set(missing.map(one => one.transaction.currency ?? 'unknown'))].sort()
}

type Formula = (window: Window) => Exact
const added =
  (facts: Fact[]): Formula =>
  window =>
    totalOf(facts, window)
const share =
  (numerator: Fact[], denominator: Fact[]): Formula =>
  window => {
    const all = totalOf(denominator, window)
    return order(all, ZERO) === 0 ? ZERO : over(totalOf(numerator, window), all)
  }

function indicator(world: World, { window, unit, zone }: ScreenQuestion, formula: Formula, decimals: number) {
  const buckets = bucketsOf(window, unit, zone, world.history.now)
  return {
    value: shown(formula(window), decimals),
    prev: shown(formula(preceding(window)), decimals),
    sparkline: buckets.map(bucket => shown(formula(bucket), decimals)),
  }
}

export function overviewAnswer(world: World, question: ScreenQuestion) {
  const all = parts(world, question.conversion, screen => screen !== null)
  const kpi = (formula: Formula, decimals: number) => indicator(world, question, formula, decimals)
  const kpis = {
    views: kpi(added(all.views), 0),
    impressions: kpi(added(all.impressions), 0),
    trials: kpi(added(all.trials), 0),
    purchases: kpi(added(all.purchases), 0),
    revenue: kpi(added(all.revenue), 2),
    conversion: kpi(share(all.purchases, all.views), 4),
  }
  return { kpis, unconverted: leftOut(all.revenue, question.window) }
}

export function screenAnswer(world: World, question: ScreenQuestion, screen: string) {
  const own = parts(world, question.conversion, one => one === screen)
  const kpi = (formula: Formula, decimals: number) => indicator(world, question, formula, decimals)
  const kpis = {
    purchases: kpi(added(own.purchases), 0),
    trials: kpi(added(own.trials), 0),
    revenue: kpi(added(own.revenue), 2),
    refunds: kpi(added(own.refunds), 2),
    conversion_rate: kpi(share(own.purchases, own.trials), 4),
    cancel_rate: kpi(share(own.cancelled, own.cancellable), 4),
  }
  return { kpis, unconverted: leftOut([...own.revenue, ...own.refunds], question.window) }
}
