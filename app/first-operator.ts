import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { firstOperatorCode } from '../domain/operators/links.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import { syncFolder, writeSynced } from '../store/embedded/folder.ts'
import { removeAbandoned, temporaryName } from '../store/embedded/temporary.ts'

const PREFIX = '.first-operator-'
const pathIn = (dataDir: string) => join(dataDir, 'first-operator')

/** Where the first operator signs up. `file`: it has the link, because no terminal shows it. */
export type FirstOperator = { link: string; file: null } | { link: null; file: string }

/**
 * The link for the first operator; null when there is one. What stands behind its # reaches no log and no proxy. Without a terminal it goes to a file
 * that only this user can read; the file of an earlier start goes away with the first operator. A folder that cannot be written is no reason not to
 * start: the account can be made otherwise.
 */
export async function firstOperator(
  pool: Pool,
  secrets: Secrets,
  { dataDir, url, isShown, log }: { dataDir: string; url: string; isShown: boolean; log: Pick<Logger, 'warn'> },
): Promise<FirstOperator | null> {
  const code = await firstOperatorCode(pool, secrets)
  const file = pathIn(dataDir)
  if (code === null || isShown) await rm(file, { force: true }).catch(() => {})
  if (code === null) return null
  const link = `${url}/console/first#${code}`
  if (isShown) return { link, file: null }
  try {
    await write(dataDir, link)
    return { link: null, file }
  } catch (error) {
    log.warn(
      { why: (error as Error).message },
      'the link for the first operator could not be written; "npm run cli -- operator create EMAIL --owner" makes the account',
    )
    return null
  }
}

async function write(dataDir: string, link: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await removeAbandoned(dataDir, PREFIX)
  const draft = join(dataDir, temporaryName(PREFIX))
  await writeSynced(draft, `${link}\n`)
  await rename(draft, pathIn(dataDir))
  await syncFolder(dataDir)
}
