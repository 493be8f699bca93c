import type { Charged, ChargedPeriod } from './charged-periods.ts'
import { itemLineage } from './subjects.ts'

/**
 * A period with the end that the invoices show: a change or the removal of the item ends it. `isPaidBefore`: an earlier period of the
 * lineage had a price.
 */
export type LineagePeriod = ChargedPeriod & { endsAt: number; isPaidBefore: boolean }
export type ItemLineage = { lineage: string; isMain: boolean; periods: LineagePeriod[] }

/** When the period ends because its item was changed or removed. */
const cutOf = ({ item, begins, ends }: ChargedPeriod, { credits }: Charged): number =>
  Math.min(ends, ...credits.filter(credit => credit.item === item && credit.at > begins).map(({ at }) => at))

/** Whether an item that was charged before continues at a time, or after it. */
const goesOn = (item: string, at: number, charged: Charged): boolean =>
  charged.periods.some(period => period.item === item && (period.begins >= at || cutOf(period, charged) > at))

/**
 * The items that have had the lineage of the subscription itself: the first item, and the items that replaced it while it was the only one.
 * Paid invoices do not change, so every refresh has the same result.
 */
function mainItems(charged: Charged): Set<string> {
  const main = new Set<string>()
  const seen: string[] = []
  for (const { item, of } of charged.periods) {
    if (seen.includes(item)) continue
    const begins = Math.min(...charged.periods.filter(other => other.item === item && other.of === of).map(period => period.begins))
    if (!seen.some(other => goesOn(other, begins, charged))) main.add(item)
    seen.push(item)
  }
  return main
}

const inOrder = (a: ChargedPeriod, b: ChargedPeriod) => a.begins - b.begins || a.of.invoice.created - b.of.invoice.created

/** Sorts the charged periods into lineages, that of the subscription itself first. */
export function itemLineages(subscription: string, charged: Charged): ItemLineage[] {
  const main = mainItems(charged)
  const byLineage = Map.groupBy(charged.periods, ({ item }) => itemLineage(subscription, item, main.has(item)))
  const lineages = [...byLineage].map(([lineage, periods]): ItemLineage => {
    const ordered = periods.sort(inOrder)
    const firstPaid = ordered.find(({ price }) => price > 0n)?.begins ?? Number.POSITIVE_INFINITY
    const next = ({ begins }: ChargedPeriod) => ordered.find(other => other.begins > begins)?.begins ?? Number.POSITIVE_INFINITY
    return {
      lineage,
      isMain: lineage === subscription,
      periods: ordered.map(period => ({
        ...period,
        endsAt: Math.min(cutOf(period, charged), next(period)),
        isPaidBefore: firstPaid < period.begins,
      })),
    }
  })
  return lineages.sort((a, b) => Number(b.isMain) - Number(a.isMain))
}
