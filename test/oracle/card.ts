import type { Filters } from './attributes.ts'
import { shown } from './exact.ts'
import { amounts, counted, type Fact } from './facts.ts'
import { DAY } from './history.ts'
import type { Conversion } from './rates.ts'
import { totalOf } from './series.ts'
import { isNew, type World } from './world.ts'

/** UTC today until now, beside yesterday until the same time of day. */
export function cardAnswer(world: World, conversion: Conversion, filters: Filters) {
  const { now } = world.history
  const midnight = now - (now % DAY)
  const today = { from: midnight, to: now + 1 }
  const yesterday = { from: midnight - DAY, to: now + 1 - DAY }
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
