import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { type Config, readConfig } from '../app/config.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { dumpExports } from '../store/dump/export-files.ts'
import { type Manifest, manifestFile, manifestText, SECRET_FILE } from '../store/dump/manifest.ts'
import { isInstalled, openUnmigrated } from '../store/dump/open.ts'
import { writeDump } from '../store/dump/write.ts'
import { syncFolder, writeSynced } from '../store/embedded/folder.ts'
import { removeAbandoned, temporaryName } from '../store/embedded/temporary.ts'
import { byteProgress } from './byte-progress.ts'
import type { CommandContext } from './command.ts'
import { action } from './definition.ts'
import { CliError, codeOf, UsageError } from './failure.ts'
import { commandOf } from './program.ts'
import { verifyBackup } from './verify-backup.ts'

const VERIFY = 'verify'

/** Writes the whole installation into a folder, which appears when the backup is complete. The service may run meanwhile. */
async function writeInto(dir: string, context: CommandContext): Promise<number> {
  const config = readConfig(context.env)
  if (!(await isInstalled({ ...config, log: () => {} })))
    throw new CliError(`there is nothing to back up: ${config.dataDir} has no database (set DATA_DIR or DATABASE_URL)`)
  await refuseUsed(dir)
  if (`${dir}${sep}`.startsWith(join(config.dataDir, 'exports') + sep))
    throw new CliError(`${dir} is inside the folder of export files: choose another folder`)

  const parent = dirname(dir)
  await mkdir(parent, { recursive: true })
  const prefix = `.${basename(dir)}.tmp-`
  await removeAbandoned(parent, prefix)
  const draft = join(parent, temporaryName(prefix))
  await mkdir(draft, { mode: 0o700 })
  try {
    const manifest = await writeBackup(draft, config, context)
    await rename(draft, dir).catch(error => {
      if (!/^(EBUSY|EXDEV|ENOTEMPTY|EEXIST)$/.test(codeOf(error))) throw error
      throw new CliError(`${dir} cannot be replaced: name a folder that does not exist yet`)
    })
    await syncFolder(parent)
    report(dir, manifest, context)
    if (config.s3) context.out(`The export files in the bucket ${config.s3.bucket} are not in the backup: they stay in the bucket.`)
    return 0
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

export const backupAction = action({
  name: 'backup',
  summary: 'write the whole installation into a new folder, while the service runs; or verify such a folder',
  arguments: [
    { name: 'verify', says: 'write nothing: read a backup and say whether all of it is as it was written', isOptional: true },
    { name: 'DIR', says: 'a folder that does not exist yet, or is empty; with verify, the one to read' },
  ],
  details:
    'A verification opens no database. It compares every file with its checksum, counts the rows of each table, and refuses a\nbackup whose schema this version does not know.',
  exits: '0 done, or the backup is whole; 1 failed, or it is damaged, half or no backup, or of a newer version',
  examples: ['backup ./backup', 'backup verify ./backup'],
  async run({ args }, context) {
    if (args[0] === VERIFY) return verifyBackup(folderOf(args.slice(1)), context)
    if (args.length > 1) throw new UsageError(`too many arguments: ${args.slice(1).join(' ')}`)
    return writeInto(folderOf(args), context)
  },
})

export const backup = commandOf(backupAction)

export function folderOf(args: string[]): string {
  if (args[0] === undefined) throw new UsageError('one folder is needed: DIR')
  return resolve(args[0])
}

async function refuseUsed(dir: string): Promise<void> {
  const names = await readdir(dir).catch(error => {
    if (codeOf(error) === 'ENOENT') return []
    if (codeOf(error) === 'ENOTDIR') throw new CliError(`${dir} is a file`)
    throw error
  })
  if (names.length > 0) throw new CliError(`${dir} is not empty: choose a new folder`)
}

async function writeBackup(draft: string, config: Config, { signal, note }: CommandContext): Promise<Manifest> {
  const database = await openUnmigrated({ ...config, log: () => {} })
  const progress = byteProgress('backing up', note)
  try {
    const stored = config.appSecret === undefined ? await storedSecret(config.dataDir) : undefined
    const secrets = secretsFrom(config.appSecret ?? stored ?? '')
    const dumped = await writeDump(database.url, draft, {
      signal,
      check: async db => {
        if (!(await opensKeys(db, secrets))) throw new CliError(WRONG_SECRET)
      },
      onTable: ({ name, rows }) => rows > 0 && progress.say(`${name}: ${rows} rows`),
      onProgress: progress.update,
    })
    const files = await dumpExports(join(config.dataDir, 'exports'), join(draft, 'exports'), signal)
    if (stored !== undefined) await writeSynced(join(draft, SECRET_FILE), stored)
    const manifest = { ...dumped, fingerprint: secrets.fingerprint, has_secret: stored !== undefined, files }
    await writeSynced(manifestFile(draft), manifestText(manifest))
    await syncFolder(draft)
    return manifest
  } finally {
    progress.stop()
    await database.close()
  }
}

/** The secret that the service has created and stored, because APP_SECRET is not set. */
const storedSecret = (dataDir: string): Promise<string> =>
  readFile(join(dataDir, SECRET_FILE), 'utf8').then(
    text => text.trim(),
    error => {
      if (codeOf(error) !== 'ENOENT') throw error
      throw new CliError(`${join(dataDir, SECRET_FILE)} is missing: set APP_SECRET to the secret of the service`)
    },
  )

function report(dir: string, { tables, files, has_secret }: Manifest, { out }: CommandContext): void {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  out(`${dir}: ${rows} rows of ${tables.length} tables, ${files.length} export files.`)
  out(
    has_secret
      ? `Its ${SECRET_FILE} opens every secret in it: protect it like a password.`
      : 'APP_SECRET is not in it: store APP_SECRET separately.',
  )
}
