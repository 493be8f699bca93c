import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { withSecretFiles } from '../../app/secret-files.ts'
import { CliError, UsageError } from '../failure.ts'

export type ImportOptions = {
  file: string
  maps: string[]
  key: string
  /** Absent: the service on this machine. */
  url: string | undefined
  delimiter: string
  size: number
  parallel: number
  trigger: boolean
  again: boolean
  rejects: string | undefined
}

const KEY = /^(test_)?sk_[A-Za-z0-9_-]+$/

function whole(name: string, given: string, max: number): number {
  const value = /^\d+$/.test(given) ? Number(given) : 0
  if (value < 1 || value > max) throw new UsageError(`--${name} must be a whole number from 1 to ${max}`)
  return value
}

/** The key comes from the environment or from a file, as every user of the machine can read the arguments of a process. */
export async function importOptions(args: string[], given: Record<string, string | undefined>): Promise<ImportOptions> {
  const env = withSecretFiles(given, line => {
    throw new CliError(line)
  })
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      map: { type: 'string', multiple: true, default: [] },
      key: { type: 'string' },
      url: { type: 'string' },
      delimiter: { type: 'string', default: ',' },
      batch: { type: 'string', default: '1000' },
      parallel: { type: 'string', default: '1' },
      'no-trigger': { type: 'boolean', default: false },
      again: { type: 'boolean', default: false },
      rejects: { type: 'string' },
    },
  })
  if (positionals.length !== 1) throw new UsageError('one file is needed: FILE.csv')
  if (values.map.length === 0) throw new UsageError('--map is missing')
  const key = values.key ?? env.PERENNIAL_KEY
  if (!key) throw new UsageError('PERENNIAL_KEY is missing: set it to a Secret Key of the project, or PERENNIAL_KEY_FILE to a file with it')
  if (!KEY.test(key)) throw new UsageError('PERENNIAL_KEY must be a Secret Key: sk_…, or test_sk_… for the sandbox')
  if (values.url !== undefined && !(/^https?:/.test(values.url) && URL.canParse(values.url)))
    throw new UsageError('--url must be an address that begins with http:// or https://')
  const delimiter = values.delimiter === '\\t' ? '\t' : values.delimiter
  if ([...delimiter].length !== 1 || /["\r\n{}]/.test(delimiter)) throw new UsageError('--delimiter must be one character')
  const size = whole('batch', values.batch, 1000)
  const parallel = whole('parallel', values.parallel, 16)
  const file = await realpath(positionals[0]!).catch(error => {
    throw new CliError(`${positionals[0]} cannot be read: ${error.message}`)
  })
  const rejects = values.rejects === undefined ? undefined : resolve(values.rejects)
  if (rejects === file) throw new UsageError('--rejects must not be the file itself')
  return {
    file,
    maps: values.map,
    key,
    url: values.url?.replace(/\/+$/, ''),
    delimiter,
    size,
    parallel,
    trigger: !values['no-trigger'],
    again: values.again,
    rejects,
  }
}
