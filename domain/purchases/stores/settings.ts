import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import type { Secrets } from '../../projects/secrets.ts'
import { findStoreConfig, isConnected, type StorePlatform, storeValue } from './config.ts'

/** The configuration of a store with its secrets in clear. `isConnected`: purchases of the environment can be fetched from the store. */
export type OpenStore = {
  project: number
  enabled: boolean
  value(name: string): string | null
  isConnected(environment: EnvironmentKind): boolean
}

/** The stored configuration of a project's store; null: nothing is stored. */
export async function openStore(db: Db, secrets: Secrets, project: number, platform: StorePlatform): Promise<OpenStore | null> {
  const config = await findStoreConfig(db, project, platform)
  if (config === null) return null
  const value = storeValue(secrets, project, config)
  return { project, enabled: config.enabled, value, isConnected: environment => isConnected(config, environment, value) }
}
