import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbedded } from '../embedded/start.ts'

export type Place = { dataDir: string; databaseUrl: string | undefined; log: (message: string) => void }

/** Whether there is a database to be opened, without making one. */
export const isInstalled = ({ dataDir, databaseUrl }: Place): Promise<boolean> =>
  databaseUrl !== undefined
    ? Promise.resolve(true)
    : stat(join(dataDir, 'postgres')).then(
        () => true,
        () => false,
      )

/**
 * The database of an installation without migrating it: a backup changes nothing, and a restore decides itself how far to go.
 * `close` ends the embedded server if nobody else uses it.
 */
export async function openUnmigrated({ dataDir, databaseUrl, log }: Place): Promise<{ url: string; close(): Promise<void> }> {
  if (databaseUrl !== undefined) return { url: databaseUrl, close: async () => {} }
  const embedded = await startEmbedded({ dataDir, log })
  return { url: embedded.url, close: () => embedded.stop() }
}
