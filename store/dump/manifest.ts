import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../embedded/refusal.ts'
import type { AppliedMigration } from '../schema-history.ts'
import type { Sequence, Table } from './catalogue.ts'
import type { FileFacts } from './file.ts'

const FORMAT = 'perennial-backup'
const FORMAT_VERSION = 1
const MANIFEST = 'manifest.json'

/** The file with the secret that an embedded installation keeps, under the same name as in the data folder. */
export const SECRET_FILE = 'app_secret'

/** The folder is not a backup, or is damaged, or does not fit the target. The message is the line to print before exit 1. */
export class DumpRefused extends Error {}

export type DumpedTable = Table & FileFacts & { rows: number }
/** Path below `exports`, with `/`. */
export type DumpedFile = FileFacts & { path: string }

/** The content of a backup. The tables are listed in the order in which they are loaded. */
export type Manifest = {
  created_at: string
  /** The migrations that the database had seen, in order. */
  migrations: AppliedMigration[]
  /** Of the APP_SECRET that seals the secrets at rest. */
  fingerprint: string
  /** Whether the backup contains that APP_SECRET. */
  has_secret: boolean
  tables: DumpedTable[]
  sequences: Sequence[]
  files: DumpedFile[]
}

export const tableFile = ({ name }: Table): string => `${name}.copy.gz`
export const manifestFile = (dir: string): string => join(dir, MANIFEST)
export const manifestText = (manifest: Manifest): string =>
  `${JSON.stringify({ format: FORMAT, format_version: FORMAT_VERSION, ...manifest }, null, 2)}\n`

/** A name that cannot lead out of its folder: letters, digits, `_`, `-` and inner dots. */
export const SAFE_NAME: RegExp = /^[\w-]+(\.[\w-]+)*$/
const isSafe = (path: string) => path.split('/').every(name => SAFE_NAME.test(name))

export async function readManifest(dir: string): Promise<Manifest> {
  const text = await readFile(manifestFile(dir), 'utf8').catch(error => {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') throw new DumpRefused(`${dir} is no backup: it has no ${MANIFEST}`)
    throw error
  })
  const value = parse(text)
  if (value?.format !== FORMAT) throw new DumpRefused(`${dir} is no backup: its ${MANIFEST} is damaged or of another program`)
  if (value.format_version !== FORMAT_VERSION)
    throw new DumpRefused(
      `${dir} is a backup of format ${value.format_version}, this program reads ${FORMAT_VERSION}: restore it with a newer one`,
    )
  // Before the first release a manifest had the number of its newest migration only.
  if (!Array.isArray(value.migrations)) throw unreleased(dir)
  if (![...value.tables.map(table => tableFile(table)), ...value.files.map(file => file.path)].every(isSafe))
    throw new DumpRefused(`${dir} is damaged: its ${MANIFEST} names files elsewhere`)
  return value
}

export const unreleased = (dir: string): DumpRefused =>
  new DumpRefused(`${dir} was made by an unreleased version of Perennial, whose schema no release has: it cannot be restored`)

function parse(text: string): (Manifest & { format: string; format_version: number }) | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
