import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../embedded/refuse.ts'
import type { Sequence, Table } from './catalogue.ts'
import { type FileFacts, factsOf } from './file.ts'

const FORMAT = 'perennial-backup'
const FORMAT_VERSION = 1
const MANIFEST = 'manifest.json'

/** The secret that an embedded installation keeps, as it is called there. */
export const SECRET_FILE = 'app_secret'

/** The folder is no backup, or a damaged one, or not for this place. The message is the line to print before exit 1. */
export class DumpRefused extends Error {}

export type DumpedTable = Table & FileFacts & { rows: number }
/** Path below `exports`, with `/`. */
export type DumpedFile = FileFacts & { path: string }

/** What a backup consists of. Tables stand in the order in which they are loaded. */
export type Manifest = {
  created_at: string
  /** Version of the newest migration. */
  migration: number
  /** Of the APP_SECRET that secrets at rest are sealed with. */
  fingerprint: string
  /** Whether that secret lies in the backup. */
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
  if (value?.format !== FORMAT) throw new DumpRefused(`${dir} is no backup: its ${MANIFEST} is damaged or of something else`)
  if (value.format_version !== FORMAT_VERSION)
    throw new DumpRefused(
      `${dir} is a backup of format ${value.format_version}, this program reads ${FORMAT_VERSION}: restore it with a newer one`,
    )
  if (![...value.tables.map(table => tableFile(table)), ...value.files.map(file => file.path)].every(isSafe))
    throw new DumpRefused(`${dir} is damaged: its ${MANIFEST} names files elsewhere`)
  return value
}

function parse(text: string): (Manifest & { format: string; format_version: number }) | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Reads every file of the backup once and holds it against the manifest. */
export async function verifyFiles(dir: string, { tables, files }: Manifest, signal: AbortSignal): Promise<void> {
  const all = [
    ...tables.map(table => ({ path: tableFile(table), facts: table })),
    ...files.map(file => ({ path: `exports/${file.path}`, facts: file })),
  ]
  for (const { path, facts } of all) {
    const found = await factsOf(join(dir, path), signal).catch(error => {
      if (errno(error) === 'ENOENT') throw new DumpRefused(`${dir} is damaged: ${path} is missing`)
      throw error
    })
    if (found.sha256 !== facts.sha256) throw new DumpRefused(`${dir} is damaged: ${path} is not as it was written`)
  }
}
