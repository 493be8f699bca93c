import { times } from '../../events/money.ts'
import type { Credit } from '../subscriptions/credits.ts'
import type { RecordablePeriod } from './stated-period.ts'

/** The part of the price that is left when the period is cut, by its time. */
function unusedPart({ price, begins, ends }: { price: string; begins: string; ends: string | null }, cutAt: string): string {
  const [begin, end, cut] = [begins, ends ?? cutAt, cutAt].map(time => Date.parse(time))
  const share = end! > begin! ? Math.max(0, end! - cut!) / (end! - begin!) : 0
  return times(price, share.toFixed(12))
}

const byTime = (a: Credit, b: Credit) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)

/**
 * The credits of a period, in the order of time. The App Store gives the unused rest back with an upgrade, and signs no amount: the unused
 * part of the price counts.
 */
export function creditsOf(platform: string, period: RecordablePeriod, price: string, next: RecordablePeriod | undefined): Credit[] {
  const stated = (period.credits ?? []).toSorted(byTime)
  const { begins, ends = null } = period
  if (platform !== 'app_store' || next?.level?.is !== 'upgrade' || next.level.refunded !== null || ends === null) return stated
  const amount = unusedPart({ price, begins, ends }, next.begins)
  return next.begins > begins && next.begins < ends && Number(amount) > 0 ? [{ at: next.begins, amount, isOfUpgrade: true }] : stated
}
