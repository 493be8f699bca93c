import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../app/config.ts'
import { opensKeys, WRONG_SECRET } from '../domain/projects/keys.ts'
import { secretsFrom } from '../domain/projects/secrets.ts'
import { dumpExports } from '../store/dump/export-files.ts'
import { type Manifest, manifestFile, manifestText, SECRET_FILE } from '../store/dump/manifest.ts'
import { isInstalled, openUnmigrated } from '../store/dump/open.ts'
import { writeDump } from '../store/dump/write.ts'
import { sync, write } from '../store/embedded/folder.ts'
import { sweep, temporaryName } from '../store/embedded/temporary.ts'
import type { Command, Context } from './command.ts'

import { CliError, codeOf, UsageError } from './failure.ts'

/** Writes the whole installation into DIR, which appears when it is whole. The service may go on working. */
export const backup: Command = async (args, context) => {
  const dir = folderOf(args)
  const config = readConfig(context.env)
  if (!(await isInstalled({ ...config, log: () => {} })))
    throw new CliError(`there is nothing to back up: ${config.dataDir} has no database (set DATA_DIR or DATABASE_URL)`)
  await refuseUsed(dir)
  if (`${dir}${sep}`.startsWith(join(config.dataDir, 'exports') + sep))
    throw new CliError(`${dir} lies among the export files: choose another folder`)

  const parent = dirname(dir)
  await mkdir(parent, { recursive: true })
  const prefix = `.${basename(dir)}.tmp-`
  await sweep(parent, prefix)
  const draft = join(parent, temporaryName(prefix))
  await mkdir(draft, { mode: 0o700 })
  try {
    const manifest = await fill(draft, config, context)
    await rename(draft, dir).catch(error => {
      if (!/^(EBUSY|EXDEV|ENOTEMPTY|EEXIST)$/.test(codeOf(error))) throw error
      throw new CliError(`${dir} cannot be replaced: name a folder that does not exist yet`)
    })
    await sync(parent)
    report(dir, manifest, context)
    if (config.s3) context.out(`The export files in the bucket ${config.s3.bucket} are not in it: they stay there.`)
    return 0
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

export function folderOf(args: string[]): string {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} })
  if (positionals.length !== 1) throw new UsageError('one folder is needed: DIR')
  return resolve(positionals[0]!)
}

async function refuseUsed(dir: string): Promise<void> {
  const names = await readdir(dir).catch(error => {
    if (codeOf(error) === 'ENOENT') return []
    if (codeOf(error) === 'ENOTDIR') throw new CliError(`${dir} is a file`)
    throw error
  })
  if (names.length > 0) throw new CliError(`${dir} is not empty: choose a new folder`)
}

async function fill(draft: string, config: Config, { signal, note }: Context): Promise<Manifest> {
  const place = await openUnmigrated({ ...config, log: () => {} })
  try {
    const kept = config.appSecret === undefined ? await keptSecret(config.dataDir) : undefined
    const secrets = secretsFrom(config.appSecret ?? kept ?? '')
    const dumped = await writeDump(place.url, draft, {
      signal,
      check: async db => {
        if (!(await opensKeys(db, secrets))) throw new CliError(WRONG_SECRET)
      },
      onTable: ({ name, rows }) => rows > 0 && note(`${name}: ${rows} rows`),
    })
    const files = await dumpExports(join(config.dataDir, 'exports'), join(draft, 'exports'), signal)
    if (kept !== undefined) await write(join(draft, SECRET_FILE), kept)
    const manifest = { ...dumped, fingerprint: secrets.fingerprint, has_secret: kept !== undefined, files }
    await write(manifestFile(draft), manifestText(manifest))
    await sync(draft)
    return manifest
  } finally {
    await place.close()
  }
}

const keptSecret = (dataDir: string): Promise<string> =>
  readFile(join(dataDir, SECRET_FILE), 'utf8').then(
    text => text.trim(),
    error => {
      if (codeOf(error) !== 'ENOENT') throw error
      throw new CliError(`${join(dataDir, SECRET_FILE)} is missing: set APP_SECRET to the one that the service has`)
    },
  )

function report(dir: string, { tables, files, has_secret }: Manifest, { out }: Context): void {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  out(`${dir}: ${rows} rows of ${tables.length} tables, ${files.length} export files.`)
  out(
    has_secret ? `Its ${SECRET_FILE} opens every secret in it: keep it as you keep passwords.` : 'APP_SECRET is not in it: keep it apart.',
  )
}
