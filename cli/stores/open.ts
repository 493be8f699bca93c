import type { Config } from '../../app/config.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { listEnvironments } from '../../domain/projects/environments.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import type { StorePlatform } from '../../domain/purchases/stores/config.ts'
import type { Pool } from '../../store/connect.ts'
import { googleTokens } from '../../workflows/outgoing/google-token.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type Stores, storeClients } from '../../workflows/stores/clients.ts'
import type { StoreClient } from '../../workflows/stores/store-client.ts'
import type { CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { CliError } from '../failure.ts'

/** A project in the open database. `environments`: their numbers. */
export type OpenProject = {
  project: number
  name: string
  environments: Record<EnvironmentKind, number>
  pool: Pool
  secrets: Secrets
}

/** Opens the database for a command about a project. Throws for a project that does not exist. */
export const withProject = <T>(
  context: Pick<CommandContext, 'env' | 'signal'>,
  project: number,
  work: (open: OpenProject) => Promise<T>,
): Promise<T> =>
  withDatabase(context, async (pool, secrets) => {
    const found = await listEnvironments(pool, project)
    if (found.length === 0) throw new CliError(`project ${project} not found`)
    const environments = Object.fromEntries(found.map(({ kind, id }) => [kind, id])) as OpenProject['environments']
    return work({ project, name: found[0]!.name, environments, pool, secrets })
  })

/** The clients with which the service asks the stores. A store without an entry cannot be asked by this version. */
export async function withStoreClients<T>(
  { allowPrivateNetwork, stores }: Config,
  work: (clients: Stores & Partial<Record<StorePlatform, StoreClient>>) => Promise<T>,
): Promise<T> {
  const requests = outgoing({ allowPrivateNetwork })
  try {
    return await work(storeClients({ outgoing: requests, tokens: googleTokens(requests), ...stores }))
  } finally {
    await requests.close()
  }
}
