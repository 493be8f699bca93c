import { DateTime } from 'luxon'
import type { Filters } from './attributes.ts'
import { shown } from './exact.ts'
import { amounts, counted, type Fact } from './facts.ts'
import type { Conversion } from './rates.ts'
import { totalOf } from './series.ts'
import { isNew, type World } from './world.ts'

/** Today of the zone until now, beside yesterday after as long. */
export function cardAnswer(world: World, conversion: Conversion, filters: Filters, zone = 'UTC') {
  const { now } = world.history
  const began = (daysAgo: number) => DateTime.fromSeconds(now, { zone }).startOf('day').minus({ days: daysAgo }).startOf('day').toSeconds()
  const [before, midnight] = [began(1), began(0)]
  const today = { from: midnight, to: now + 1 }
  const yesterday = { from: before, to: Math.min(before + (now + 1 - midnight), midnight) }
  const entry = (code: string, facts: Fact[], decimals: number) => ({
    code,
    value: shown(totalOf(facts, today), decimals),
    valuePrev: shown(totalOf(facts, yesterday), decimals),
  })
  return [
    entry(
      'trials_count',
      counted(world, filters, one => one.kind === 'trial'),
      0,
    ),
    entry('subscriptions_count', counted(world, filters, isNew), 0),
    entry(
      'inapp_count',
      counted(world, filters, one => one.kind === 'one-time'),
      0,
    ),
    entry('tracked_revenue', amounts(world, { conversion, filters }), 2),
  ]
}
