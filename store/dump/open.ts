import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbedded } from '../embedded/start.ts'
import { requirePrivateFolder } from '../private-paths.ts'
import { requireSession } from '../session.ts'

export type DatabaseLocation = { dataDir: string; databaseUrl: string | undefined; log: (message: string) => void }

/** Whether the installation has a database. Creates nothing. */
export const isInstalled = ({ dataDir, databaseUrl }: DatabaseLocation): Promise<boolean> =>
  databaseUrl !== undefined
    ? Promise.resolve(true)
    : stat(join(dataDir, 'postgres')).then(
        () => true,
        () => false,
      )

/**
 * Opens the database of an installation and does not migrate it: a backup changes nothing, and a restore migrates as far as the backup
 * was. `close` stops the embedded server when no other process uses it.
 */
export async function openUnmigrated({ dataDir, databaseUrl, log }: DatabaseLocation): Promise<{ url: string; close(): Promise<void> }> {
  await requirePrivateFolder(dataDir)
  if (databaseUrl !== undefined) {
    await requireSession(databaseUrl)
    return { url: databaseUrl, close: async () => {} }
  }
  const embedded = await startEmbedded({ dataDir, log })
  return { url: embedded.url, close: () => embedded.stop() }
}
