import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { withSecretFiles } from '../../app/secret-files.ts'
import type { CommandContext } from '../command.ts'
import type { CommandInput, OptionValues } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'

/** How a file of rows is imported, wherever they go. */
export type FileOptions = {
  file: string
  maps: string[]
  delimiter: string
  size: number
  parallel: number
  again: boolean
  rejects: string | undefined
}

export type ImportOptions = FileOptions & {
  key: string
  /** Absent: the service on this machine. */
  url: string | undefined
  /** Events younger than 72 hours act; else none does. */
  trigger: boolean
}

export const FILE_OPTIONS = {
  map: {
    value: 'MAP',
    isMany: true,
    says: 'a JSON file of {"field": "template", …}, or one field=template; may be given again, the last one counts',
  },
  delimiter: { value: 'C', default: ',', says: 'between the values of a row; \\t for a tab' },
  batch: { value: 'N', default: '1000', says: 'rows per request, 1 to 1000' },
  parallel: { value: 'N', default: '1', says: "requests at once, 1 to 16; above 1 the order may differ from the file's" },
  again: { says: 'post everything again, although the import was finished' },
  rejects: { value: 'PATH', says: 'where rejected rows are written; else in DATA_DIR/imports' },
} as const

export const IMPORT_OPTIONS = {
  ...FILE_OPTIONS,
  key: { value: 'KEY', says: 'the key as an argument, which every user of this machine can read while the import runs' },
  url: { value: 'URL', says: 'where the service answers; else http://localhost:$PORT' },
  trigger: {
    says: 'let events younger than 72 hours start automations, end waits and go to integrations; says before it begins how many of them each would get, and asks on a terminal. Without it all rows are history: stored and counted, and nobody acts on them',
  },
  // Scripts of before say it.
  'no-trigger': { says: 'the default' },
} as const

const KEY = /^((test_)?sk_[A-Za-z0-9_-]+|pnk_(live|test)_[A-Za-z0-9]+)$/

function whole(name: string, given: string, max: number): number {
  const value = /^\d+$/.test(given) ? Number(given) : 0
  if (value < 1 || value > max) throw new UsageError(`--${name} must be a whole number from 1 to ${max}`)
  return value
}

/** Checks the options of a file, in the order in which an operator reads them. */
export async function fileOptions(values: OptionValues<typeof FILE_OPTIONS>, path: string): Promise<FileOptions> {
  const delimiter = values.delimiter === '\\t' ? '\t' : values.delimiter
  if ([...delimiter].length !== 1 || /["\r\n{}]/.test(delimiter)) throw new UsageError('--delimiter must be one character')
  const size = whole('batch', values.batch, 1000)
  const parallel = whole('parallel', values.parallel, 16)
  const file = await realpath(path).catch(error => {
    throw new CliError(`${path} cannot be read: ${error.message}`)
  })
  const rejects = values.rejects === undefined ? undefined : resolve(values.rejects)
  if (rejects === file) throw new UsageError('--rejects must not be the file itself')
  return { file, maps: values.map, delimiter, size, parallel, again: values.again, rejects }
}

/** The file of the arguments. Throws unless there is one, with a map. */
export function oneFile(path: string | undefined, maps: string[]): string {
  if (path === undefined) throw new UsageError('one file is needed: FILE.csv')
  if (maps.length === 0) throw new UsageError('--map is missing')
  return path
}

/** The key comes from the environment or from a file, as every user of the machine can read the arguments of a process. */
export async function importOptions(
  { args, values }: CommandInput<typeof IMPORT_OPTIONS>,
  given: CommandContext['env'],
): Promise<ImportOptions> {
  const env = withSecretFiles(given, line => {
    throw new CliError(line)
  })
  const path = oneFile(args[0], values.map)
  const key = values.key ?? env.PERENNIAL_KEY
  if (!key) throw new UsageError('PERENNIAL_KEY is missing: set it to a Secret Key of the project, or PERENNIAL_KEY_FILE to a file with it')
  if (!KEY.test(key)) throw new UsageError('PERENNIAL_KEY must be a Secret Key (sk_…, or test_sk_… for the sandbox) or a named key (pnk_…)')
  if (values.trigger && values['no-trigger']) throw new UsageError('--trigger and --no-trigger exclude each other')
  if (values.url !== undefined && !(/^https?:/.test(values.url) && URL.canParse(values.url)))
    throw new UsageError('--url must be an address that begins with http:// or https://')
  return { ...(await fileOptions(values, path)), key, url: values.url?.replace(/\/+$/, ''), trigger: values.trigger }
}
