import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import {
  type Arrival,
  type Gate,
  isStorable,
  type NewNotification,
  type NotificationVerifier,
} from '../../domain/purchases/store-inbox/notification.ts'
import type { Recorded } from '../../domain/purchases/store-inbox/record.ts'
import { recordTest } from '../../domain/purchases/store-inbox/tests.ts'
import { isConnected, type StoreConfig, type StorePlatform, type StoreValue, storeValue } from '../../domain/purchases/stores/config.ts'
import type { Db } from '../../store/connect.ts'
import { Problem } from '../errors.ts'

export type ReceivingDeps = {
  db: Db
  secrets: Secrets
  /** The function that verifies the notifications of each store. A store without an entry is not served by this process. */
  verifiers: Readonly<Partial<Record<StorePlatform, NotificationVerifier>>>
  record: (notification: NewNotification) => Promise<Recorded>
}

/** The address to which a notification was sent. */
export type StoreAddress = { platform: StorePlatform; project: number }

/**
 * The result of a notification. `answer`: a label for counting; the other two are known of authentic notifications only. `problem` null:
 * 200. After a 5xx the store sends the notification again.
 */
export type Receipt = { answer: string; type: string; environment: EnvironmentKind | null; problem: Problem | null }

const UNAVAILABLE = { status: 503, headers: { 'Retry-After': '60' } }
const unavailable = (reason: string): Receipt => ({
  answer: `unavailable_${reason}`,
  type: '',
  environment: null,
  problem: new Problem(
    'storage_error',
    'the store is not set up completely, or a notification cannot be checked at the moment',
    UNAVAILABLE,
  ),
})
const refused = (answer: string, problem: Problem): Receipt => ({ answer, type: '', environment: null, problem })

/** The configuration of an address's store; throws 404 where nothing is stored: also for a project that does not exist. */
export function stored(config: StoreConfig | null): StoreConfig {
  if (config && Object.keys({ ...config.fields, ...config.secrets }).length > 0) return config
  throw new Problem('invalid_request', 'no such address', { status: 404 })
}

/** Apple's notifications are complete; the others need the answers of the store's API. */
const isReady = (config: StoreConfig, environments: EnvironmentKind[], value: StoreValue): boolean =>
  config.platform === 'apple' || environments.some(environment => isConnected(config, environment, value))

/** Verifies the sender of a notification, and records the notification. `signal`: nothing is recorded after it has aborted. */
export async function receive(
  { db, secrets, verifiers, record }: ReceivingDeps,
  { project, platform }: StoreAddress,
  config: StoreConfig,
  arrival: Arrival,
  contentType: string | null,
  signal: AbortSignal,
): Promise<Receipt> {
  const value = storeValue(secrets, project, config)
  const verify = verifiers[platform]
  if (!verify) return unavailable('not_served')
  if (!config.enabled) return unavailable('off')
  if (!isReady(config, ['production', 'sandbox'], value)) return unavailable('not_connected')
  const gate = await verify(arrival, { project, enabled: config.enabled, value })
  if (gate.is === 'ignored' && gate.isTest) {
    signal.throwIfAborted()
    await recordTest(db, { project, platform, environment: gate.environment ?? null })
  }
  if (gate.is !== 'accepted') return receiptOf(gate)
  const { notification } = gate
  const { type, environment } = notification
  if (!isStorable(notification)) return malformed('the notification has an id or a name that is empty, too long or not a text')
  if (!isReady(config, environment === null ? ['production', 'sandbox'] : [environment], value)) return unavailable('not_connected')
  signal.throwIfAborted()
  const answer = await record({ ...notification, project, platform, body: arrival.body, contentType, source: 'push' })
  return { answer, type, environment, problem: null }
}

const malformed = (message: string): Receipt => refused('malformed', new Problem('invalid_request', message))

function receiptOf(gate: Exclude<Gate, { is: 'accepted' }>): Receipt {
  switch (gate.is) {
    case 'ignored':
      return { answer: gate.isTest ? 'test' : 'ignored', type: gate.type, environment: gate.environment ?? null, problem: null }
    case 'malformed':
      return malformed(gate.message)
    case 'unauthorized':
      return refused('unauthorized', new Problem('control_unauthorized', 'the signature of the notification does not hold'))
    case 'foreign':
      return refused(
        `foreign_${gate.reason}`,
        new Problem('control_forbidden', `the notification is signed, but not for this project's app (${gate.reason})`),
      )
    case 'unavailable':
      return unavailable(gate.reason)
    default:
      return gate satisfies never
  }
}
