import type { Transaction } from './transactions.ts'
import type { ScreenSeen } from './user-history.ts'

/** How long after an impression or view a transaction belongs to its screen. */
const SCREEN_MS = 86_400_000

/**
 * The screen of each transaction: the screen that the transaction names, else the last screen that the user saw within a day before it. A
 * conversion belongs to the screen of its trial; a renewal belongs to no screen. `transactions` in order of time.
 */
export function screensOf(transactions: Transaction[], seen: ScreenSeen[]): Map<Transaction, string> {
  const ordered = [...seen].sort((a, b) => a.at - b.at || (a.screen < b.screen ? -1 : 1))
  const screens = new Map<Transaction, string>()
  let shown = 0
  for (const transaction of transactions) {
    const { kind, at, source, period } = transaction
    if (kind === 'renewal') continue
    while (shown < ordered.length && ordered[shown]!.at <= at) shown++
    const last = ordered[shown - 1]
    const recent = last && last.at >= at - SCREEN_MS ? last.screen : undefined
    const screen = kind === 'conversion' ? period?.trial && screens.get(period.trial) : (source.screen ?? recent)
    if (screen) screens.set(transaction, screen)
  }
  return screens
}
