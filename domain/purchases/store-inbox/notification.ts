import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/** The stored configuration of one store of a project, in clear. Fields and secrets by their names in the API; null: not stored. */
export type StoreSettings = {
  project: number
  enabled: boolean
  value(name: string): string | null
}

/** A notification as it arrived. `headers`: names in lower case. `address`: the address to which the store sends, with project. */
export type Arrival = { body: Uint8Array; headers: Readonly<Record<string, string | undefined>>; address: string; receivedAtMs: number }

/**
 * The fields that the outer signature of a notification covers. `environment` null: only the store's answer states it. `statedAt`: store
 * time in ms.
 */
export type SignedNotification = {
  id: string
  type: string
  subtype: string | null
  environment: EnvironmentKind | null
  queue: string
  statedAt: number
}

/**
 * accepted: to be recorded. ignored: authentic, but of no interest; nothing is recorded. malformed: 400, not a notification of the store.
 * unauthorized: 401. foreign: 403, rightly signed but not for this project's app; `reason` is a word for counting. unavailable: 503.
 */
export type Gate =
  | { is: 'accepted'; notification: SignedNotification }
  | { is: 'ignored'; type: string; isTest: boolean; environment?: EnvironmentKind | null }
  | { is: 'malformed'; message: string }
  | { is: 'unauthorized' }
  | { is: 'foreign'; reason: string }
  | { is: 'unavailable'; reason: string }

/** Verifies who sent a notification, before anything is stored. Fetches nothing from a store. */
export type NotificationVerifier = (arrival: Arrival, settings: StoreSettings) => Promise<Gate>

export type NotificationSource = 'push' | 'sweep' | 'import'

/** An authentic notification, to be recorded. `body` and `contentType` as they arrived. */
export type NewNotification = SignedNotification & {
  project: number
  platform: StorePlatform
  body: Uint8Array
  contentType: string | null
  source: NotificationSource
}

/** Far more than any store uses, and as much as an index takes. A purchase token is longer than an id. */
const LONGEST = { id: 255, type: 255, subtype: 255, queue: 4096 }

/** Postgres accepts neither a NUL nor half of a surrogate pair in a text; a time that is no exact number is invalid. */
export function isStorable({ id, type, subtype, queue, statedAt }: SignedNotification): boolean {
  const texts = Object.entries({ id, type, subtype: subtype ?? '-', queue }) as [keyof typeof LONGEST, string][]
  return (
    Number.isSafeInteger(statedAt) &&
    texts.every(
      ([name, text]) =>
        typeof text === 'string' && text !== '' && text.length <= LONGEST[name] && !text.includes('\0') && text.isWellFormed(),
    )
  )
}
