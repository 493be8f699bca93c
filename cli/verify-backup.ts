import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { refuseUnknownSchema } from '../store/dump/load.ts'
import { type Manifest, readManifest, SECRET_FILE } from '../store/dump/manifest.ts'
import { bytesOf, verifyFiles } from '../store/dump/verify.ts'
import { addedProgress } from './byte-progress.ts'
import type { CommandContext } from './command.ts'
import { CliError, codeOf } from './failure.ts'

/** The secret that the backup has with it. Throws when it is not the one that seals the secrets of the backup. */
export async function secretIn(dir: string, { fingerprint }: Manifest): Promise<string> {
  const secret = await readFile(join(dir, SECRET_FILE), 'utf8').catch(error => {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new CliError(`${dir} is damaged: ${SECRET_FILE} is missing`)
  })
  if (secretsFrom(secret.trim()).fingerprint !== fingerprint)
    throw new CliError(`${dir} is damaged: ${SECRET_FILE} was changed after the backup`)
  return secret.trim()
}

/** Reads the whole backup and opens no database: every file is as it was written, has its rows, and this program knows the schema. */
export async function verifyBackup(dir: string, { out, note, signal }: CommandContext): Promise<number> {
  const manifest = await readManifest(dir)
  await refuseUnknownSchema(dir, manifest)
  if (manifest.has_secret) await secretIn(dir, manifest)
  const progress = addedProgress('verifying', bytesOf(manifest), note)
  try {
    await verifyFiles(dir, manifest, { signal, onBytes: progress.onBytes }, true)
  } finally {
    progress.stop()
  }
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  out(
    `${dir} is whole: ${rows} rows of ${manifest.tables.length} tables and ${manifest.files.length} export files as of ${manifest.created_at}.`,
  )
  out(manifest.has_secret ? 'It has its secret with it.' : 'It needs the APP_SECRET of its installation, which is not in it.')
  return 0
}
