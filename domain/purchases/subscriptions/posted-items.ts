import { beginsPeriod, type PostedFact } from './posted.ts'

const keyOf = ({ user_id, platform, lineage }: PostedFact): string => JSON.stringify([user_id, platform, lineage])
const first = (facts: PostedFact[]): PostedFact =>
  facts.reduce((a, b) => (b.begins < a.begins || (b.begins === a.begins && b.product! < a.product!) ? b : a))

/** The products of a lineage that began a period at the same time as another one, but for the one that began first: items of their own. */
function furtherItems(facts: PostedFact[]): Set<string> {
  const begun = facts.filter(fact => beginsPeriod(fact) && fact.product !== null)
  const together = [...Map.groupBy(begun, ({ begins }) => begins).values()].filter(
    of => of.length > 1 && new Set(of.map(({ product }) => product)).size > 1,
  )
  if (together.length === 0) return new Set()
  const items = new Set(together.flatMap(of => of.map(({ product }) => product!)))
  items.delete(first(begun.filter(({ product }) => items.has(product!))).product!)
  return items
}

/**
 * Gives each further item of a lineage a lineage of its own, as stores do with a subscription to several products. An event without a
 * product belongs to the item of its transaction, else to the first item.
 */
export function byItem(facts: PostedFact[]): PostedFact[] {
  return [...Map.groupBy(facts, keyOf).values()].flatMap(of => {
    const items = furtherItems(of)
    if (items.size === 0) return of
    const ofTransaction = new Map(of.filter(beginsPeriod).map(({ transaction, product }) => [transaction, product]))
    return of.map(fact => {
      const product = fact.product ?? (fact.transaction === null ? null : ofTransaction.get(fact.transaction)) ?? null
      return product !== null && items.has(product) ? { ...fact, lineage: `${fact.lineage}:${product}` } : fact
    })
  })
}
