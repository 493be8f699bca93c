import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, readConfig } from '../app/config.ts'
import { type EndedSignIns, endSignIns } from '../domain/operators/end-sign-ins.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { loadExports } from '../store/dump/export-files.ts'
import { loadDump, refuseUnknownSchema } from '../store/dump/load.ts'
import { type Manifest, readManifest, SECRET_FILE } from '../store/dump/manifest.ts'
import { openUnmigrated } from '../store/dump/open.ts'
import { bytesOf, verifyFiles } from '../store/dump/verify.ts'
import { restoreDiskMark } from '../store/files/open-disk.ts'
import { keepSecret } from '../store/open.ts'
import { folderOf } from './backup.ts'
import { addedProgress } from './byte-progress.ts'
import type { CommandContext } from './command.ts'
import { action } from './definition.ts'
import { CliError } from './failure.ts'
import { commandOf } from './program.ts'
import { secretIn } from './verify-backup.ts'

const counted = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`

/** Fills an empty installation from a backup: all of it or nothing. */
async function restoreFrom(dir: string, { env, signal, out, note }: CommandContext): Promise<number> {
  const config = readConfig(env)
  // Everything that can be refused without changing the target is checked first.
  const manifest = await readManifest(dir)
  await refuseUnknownSchema(dir, manifest)
  const secret = await secretFor(dir, manifest, config)
  const verifying = addedProgress('verifying', bytesOf(manifest), note)
  await verifyFiles(dir, manifest, { signal, onBytes: verifying.onBytes }).finally(() => verifying.stop())

  const tableBytes = manifest.tables.reduce((sum, { bytes }) => sum + bytes, 0)
  const target = await openUnmigrated({ ...config, log: () => {} })
  let undo = async () => {}
  let ended: EndedSignIns = { sessions: 0, links: 0, grants: 0 }
  const restoring = addedProgress('restoring', tableBytes, note)
  try {
    await loadDump(target.url, dir, manifest, {
      signal,
      onBytes: restoring.onBytes,
      settleRows: async db => {
        ended = await endSignIns(db)
      },
      moveFiles: async db => {
        await mkdir(config.dataDir, { recursive: true, mode: 0o700 })
        undo = await loadExports(join(dir, 'exports'), join(config.dataDir, 'exports'), manifest.files, signal)
        await restoreDiskMark(db, join(config.dataDir, 'exports'))
        if (secret !== undefined) await keepSecret(config.dataDir, secret)
      },
    })
  } catch (error) {
    await undo()
    throw error
  } finally {
    restoring.stop()
    await target.close()
  }
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  out(`Restored ${rows} rows and ${manifest.files.length} export files as of ${manifest.created_at}.`)
  out(
    `Nobody is signed in: ${counted(ended.sessions, 'session')}, ${counted(ended.links, 'link')} and ${counted(ended.grants, 'grant')} of assistants have ended.`,
  )
  out(
    'Accounts, passwords, second factors, passkeys and links to single sign-on are those of the backup: what was closed or removed since signs in again.',
  )
  out('See docs/operating.md; "operator reset" ends all of them of one operator.')
  out('Open work continues here as soon as the service starts: do not start the old installation again.')
  return 0
}

export const restoreAction = action({
  name: 'restore',
  summary: 'fill an empty installation from a backup',
  arguments: [{ name: 'DIR', says: 'the folder that "backup" has written' }],
  examples: ['restore ./backup'],
  run: ({ args }, context) => restoreFrom(folderOf(args), context),
})

export const restore = commandOf(restoreAction)

/** The secret to store in the target; undefined when APP_SECRET has the right secret. */
async function secretFor(dir: string, manifest: Manifest, config: Config): Promise<string | undefined> {
  const { fingerprint, has_secret } = manifest
  const isRight = (secret: string) => secretsFrom(secret).fingerprint === fingerprint
  const where = has_secret ? `the content of ${join(dir, SECRET_FILE)}` : 'the secret of the installation that was backed up'
  if (config.appSecret !== undefined) {
    if (!isRight(config.appSecret)) throw new CliError(`APP_SECRET cannot open the secrets of this backup: set it to ${where}`)
    return undefined
  }
  if (!has_secret) throw new CliError(`the secrets of this backup are sealed: set APP_SECRET to ${where}`)
  return secretIn(dir, manifest)
}
