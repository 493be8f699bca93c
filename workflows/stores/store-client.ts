import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { StoreClaim } from '../../domain/purchases/claim.ts'
import type { StoreReport } from '../../domain/purchases/store-facts/statement.ts'
import type { Promised } from '../../domain/purchases/store-inbox/checks.ts'
import type { Arrival, Gate, SignedNotification, StoreSettings } from '../../domain/purchases/store-inbox/notification.ts'
import type { CustomerClaim, NotKnown, SignedClaim, StoreWord } from '../../domain/purchases/verification.ts'
import type { Quota } from './quota.ts'

export type { Arrival, Gate, SignedNotification, StoreSettings } from '../../domain/purchases/store-inbox/notification.ts'

/** A recorded notification, to be read in its queue. */
export type RecordedNotification = { id: string; type: string; subtype: string | null; statedAt: number; body: Uint8Array }

/**
 * What one notification says by itself. `environment` null: it does not tell. `refresh`: a fetch from the store must come before the lineage is known.
 * `transactions`: those that the notification names and that must be fetched from the store by name: they go into `FetchContext`. `promised`: what the answer of
 * the store must show; stores notify before their API knows it. ignored: a type or content that is of no interest.
 */
export type NotificationRead =
  | {
      is: 'read'
      environment: EnvironmentKind | null
      reports: StoreReport[]
      refresh: boolean
      transactions?: string[]
      promised?: Promised | undefined
    }
  | { is: 'ignored'; type: string }

/**
 * The answer of a store about a lineage. unknown: the store does not know it. gone: known once; the store has forgotten it. later: overloaded,
 * slow or failing; `afterMs`: the store's own word, else null. refused: it does not accept the project's credentials. `word`: what the store said.
 */
export type StoreAnswer =
  | { is: 'reports'; environment: EnvironmentKind; reports: StoreReport[] }
  | { is: 'unknown'; word?: StoreWord }
  | { is: 'gone'; word?: StoreWord }
  | { is: 'later'; why: string; afterMs: number | null }
  | { is: 'refused'; why: string }

export type NoAnswer = Exclude<StoreAnswer, { is: 'reports' }>

/** What a sweep of a store finds, in the form of a push, so that it can be recorded and read like one. */
export type SweptNotification = { notification: SignedNotification; body: Uint8Array }
export type Swept = { is: 'swept'; notifications: SweptNotification[] } | NoAnswer

/**
 * `transactions`: named by the notifications of the queue (see `NotificationRead`). `quota`: taken from before each request; absent: requests are not
 * counted.
 */
export type FetchContext = {
  settings: StoreSettings
  environment: EnvironmentKind
  signal: AbortSignal
  quota?: Quota
  transactions?: readonly string[]
}

/**
 * A purchase that somebody claims: by its ids, by Apple's signature alone, or by a receipt with all others of the customer. `product` null:
 * whichever it is of. Of Google Play a claim may name the order without the token.
 */
export type ClaimToConfirm = (Omit<StoreClaim, 'product'> & { product: string | null }) | SignedClaim | CustomerClaim

/** `lineage` and `subject` name the claimed transaction within the reports. `why`: the store knows more, but does not confirm the claim. */
export type ClaimAnswer =
  | NoAnswer
  | { is: 'unknown'; why: NotKnown; word?: StoreWord }
  | { is: 'reports'; environment: EnvironmentKind; reports: StoreReport[]; lineage: string; subject: string }

/**
 * One permission at a store, as the answer to a harmless question shows it. `why`: a word of the answer; `todo`: what an operator does about it.
 */
export type PermissionCheck = { permission: string } & ({ is: 'granted' } | { is: 'refused' | 'no_answer'; why: string; todo: string })

/** One store. All methods throw only for a defect or when `signal` aborts. */
export type StoreClient = {
  /** Verifies who sent the notification, before anything is stored. Fetches nothing from a store. */
  verify(arrival: Arrival, settings: StoreSettings): Promise<Gate>
  /** Verifies and decodes what is inside. Throws an error whose message names no secret when the content cannot be understood. */
  read(notification: RecordedNotification, settings: StoreSettings): Promise<NotificationRead>
  /** Fetches everything that the store knows of the lineages of a queue. */
  refresh(queue: string, context: FetchContext): Promise<StoreAnswer>
  /** Fetches a claimed purchase. */
  confirm(claim: ClaimToConfirm, context: FetchContext): Promise<ClaimAnswer>
  /** Requests what does not exist: the refusal shows which permissions the credentials have. */
  check?(context: FetchContext): Promise<PermissionCheck[]>
}
