import type { FetchContext } from '../store-client.ts'
import type { SubscriptionAnswer, SubscriptionLine } from './answers.ts'
import { FORBIDDEN, fetchFromPlay, type NoAnswer, type PlayDeps } from './developer-api.ts'

/** The most purchases that are followed at once through upgrades, top-ups and resubscriptions. */
const MOST_LINKS = 8

export type ChainLink = { token: string; answer: SubscriptionAnswer; statedAt: number }

/** `links`: from the requested token back. `names`: their tokens, and the token of the next older purchase, which Google may have forgotten. */
export type Chain = { is: 'chain'; links: ChainLink[]; names: string[] } | NoAnswer

/** A line of a purchase. A line without an order is not owned yet, for example the line of a deferred change. */
export type OwnedLine = SubscriptionLine & { productId: string; latestSuccessfulOrderId: string }

export const ownedLines = ({ lineItems = [] }: SubscriptionAnswer): OwnedLine[] =>
  lineItems.filter((line): line is OwnedLine => line.productId !== undefined && line.latestSuccessfulOrderId !== undefined)

/** The purchase that precedes a purchase. */
const olderToken = ({ linkedPurchaseToken, outOfAppPurchaseContext }: SubscriptionAnswer): string | undefined =>
  linkedPurchaseToken ?? outOfAppPurchaseContext?.expiredPurchaseToken

/** Fetches a subscription and the purchases that it continues. */
export async function fetchChain(deps: PlayDeps, token: string, context: FetchContext): Promise<Chain> {
  const links: ChainLink[] = []
  const names = [token]
  for (;;) {
    const next = names.at(-1)!
    const path = `purchases/subscriptionsv2/tokens/${encodeURIComponent(next)}`
    const answer = await fetchFromPlay<SubscriptionAnswer>(deps, { method: 'GET', path }, context)
    if (answer.is === 'answer') {
      links.push({ token: next, answer: answer.body, statedAt: answer.statedAt })
      const older = olderToken(answer.body)
      if (older === undefined || names.includes(older)) break
      names.push(older)
      if (links.length === MOST_LINKS) break
    } else if (links.length > 0 && (answer.is === 'unknown' || answer.is === 'gone')) {
      // Google forgets a purchase 60 days after its end. Its token is still a name of the lineage.
      break
    } else {
      return answer.is === 'forbidden' ? FORBIDDEN : answer
    }
  }
  return { is: 'chain', links, names }
}
