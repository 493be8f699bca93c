import type { Logger } from 'pino'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import type { Detail } from '../domain/kernel/refusal.ts'
import type { ClaimAttempt, Context, RequestState } from './context.ts'

const STORE_OF = { app_store_data: 'app_store', play_store_data: 'play_store', stripe_store_data: 'stripe', paddle_store_data: 'paddle' }
const IDS = ['transaction_id', 'original_transaction_id', 'order_id', 'subscription_id', 'product_id', 'product']
/** Neither a purchase token nor a signed transaction: both are longer. */
const ID = /^[\w.:@-]{1,100}$/

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

const idsIn = (fields: Fields): ClaimAttempt['ids'] =>
  Object.fromEntries(
    IDS.flatMap(name => {
      const text = typeof fields[name] === 'number' ? String(fields[name]) : fields[name]
      return typeof text === 'string' && ID.test(text) ? [[name, text]] : []
    }),
  )

/** What the body of a purchase names. Tokens, receipts and signed transactions are left out: whoever has them can claim the purchase. */
export function attemptIn(body: unknown): ClaimAttempt {
  if (!isFields(body)) return { store: null, ids: {} }
  for (const [name, store] of Object.entries(STORE_OF)) if (isFields(body[name])) return { store, ids: idsIn(body[name]) }
  if (!isFields(body.purchase)) return { store: null, ids: {} }
  return { store: 'purchase_token' in body.purchase ? 'play_store' : 'app_store', ids: idsIn(body.purchase) }
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

/** Keeps for the log what the body of a purchase is about. */
export const noteAttempt =
  ({ state }: Pick<Context, 'state'>) =>
  (body: unknown): void => {
    if (Object.hasOwn(REFUSED, state.operation)) state.attempt = attemptIn(body)
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
  { requestId: id, operation, owner, actsIn, attempt }: RequestState,
  error: unknown,
  refused: Refused,
): void {
  const words = REFUSED[operation]
  const about = words && { project: owner?.project, environment: actsIn ?? owner?.environmentKind, ...attempt, ...shown(refused) }
  if (refused.status >= 500) log.error({ id, operation, ...about, err: error }, 'request failed')
  else if (words) log.warn({ id, operation, ...about }, words)
}
