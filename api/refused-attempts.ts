import type { Logger } from 'pino'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import type { Detail } from '../domain/kernel/refusal.ts'
import { claimedIn, PUBLIC_ID, storeDataIn } from './claimed-transaction.ts'
import type { ClaimAttempt, Context, RequestState } from './context.ts'

const IDS = ['transaction_id', 'original_transaction_id', 'order_id', 'subscription_id', 'product_id', 'product']

type Fields = Record<string, unknown>

const idsIn = (fields: Fields): ClaimAttempt['ids'] =>
  Object.fromEntries(
    IDS.flatMap(name => {
      const text = typeof fields[name] === 'number' ? String(fields[name]) : fields[name]
      return typeof text === 'string' && PUBLIC_ID.test(text) ? [[name, text]] : []
    }),
  )

/** What the body of a purchase names. Tokens, receipts and signed transactions are left out: whoever has them can claim the purchase. */
export function attemptIn(body: unknown): ClaimAttempt {
  const found = storeDataIn(body)
  return found ? { store: found.store, ids: idsIn(found.data) } : { store: null, ids: {} }
}

const PURCHASE = 'a purchase was refused'

/** The operations whose refusals an operator looks for, and what the log calls them. */
const REFUSED: Record<string, string> = {
  v4CreatePurchase: PURCHASE,
  v3CreatePurchase: PURCHASE,
  sdkCreatePurchase: PURCHASE,
  sdkRestorePurchases: PURCHASE,
  storeNotification: 'a notification of a store was refused',
}

/** Keeps for the log, and for the record of refused claims, what the body of a purchase is about. */
export const noteAttempt =
  ({ state }: Pick<Context, 'state'>) =>
  (body: unknown): void => {
    if (!Object.hasOwn(REFUSED, state.operation)) return
    state.attempt = attemptIn(body)
    state.claimed = claimedIn(body)
  }

/** Keeps for whom the body of a purchase claims it. */
export const noteClaimant =
  ({ state }: Pick<Context, 'state'>) =>
  (user: unknown): void => {
    if (typeof user === 'string' && user !== '') state.claimant = user
  }

/** Keeps for the log where the operation of an app acts. */
export const noteEnvironment =
  ({ state }: Pick<Context, 'state'>) =>
  (environment: EnvironmentKind): void => {
    state.actsIn = environment
  }

const MOST_DETAILS = 5

export type Refused = { status: number; code: string | number; reason: string; details?: readonly Detail[] | undefined }

/** A claim that is refused while its request goes on. */
export function logRefusedPurchase(
  log: Logger,
  about: { id: string | null; operation: string; project: number; environment: string } & ClaimAttempt,
  refused: Refused,
): void {
  log.warn({ ...about, ...shown(refused) }, PURCHASE)
}

const shown = ({ details, ...refused }: Refused) => ({ ...refused, ...(details?.length && { details: details.slice(0, MOST_DETAILS) }) })

/** The log line of a request that failed: of our failures with the error, of a refused purchase or notification with its reason; of others none. */
export function logFailure(
  log: Logger,
  { requestId: id, operation, owner, actsIn, attempt, dryRun }: RequestState,
  error: unknown,
  refused: Refused,
): void {
  const words = dryRun ? undefined : REFUSED[operation]
  const about = words && { project: owner?.project, environment: actsIn ?? owner?.environmentKind, ...attempt, ...shown(refused) }
  if (refused.status >= 500) log.error({ id, operation, ...about, err: error }, 'request failed')
  else if (words) log.warn({ id, operation, ...about }, words)
}
