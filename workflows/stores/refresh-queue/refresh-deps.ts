import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Secrets } from '../../../domain/projects/secrets.ts'
import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import type { Pool } from '../../../store/connect.ts'
import type { AtCrashPoint } from '../../engine/crash-point.ts'
import type { StoreClient } from '../store-client.ts'

export type StoreClients = Readonly<Partial<Record<StorePlatform, StoreClient>>>

/** Counts the answers of stores, and the checks that found changes which no push had reported. */
export type RefreshCounts = { refresh(platform: StorePlatform, result: string): void; missed(platform: StorePlatform): void }

/** A notification that is given up, with the reason as a text. */
export type GivenUpNotification = {
  project: number
  store: StorePlatform
  environment: EnvironmentKind | null
  notification: number
  reason: string
}

export type RefreshDeps = {
  pool: Pool
  secrets: Secrets
  clients: StoreClients
  counts: RefreshCounts
  /** Is called once for each such notification, when it is recorded. */
  onSetAside: (one: GivenUpNotification) => void
  at: AtCrashPoint
}
