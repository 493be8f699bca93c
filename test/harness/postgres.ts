import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../store/embedded/start.ts'
import { migrate } from '../../store/migrate.ts'
import { executeAll, superuserUrl, TEST_GRANTS } from './superuser.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection string of the suite's server. */
    postgres: string
    /** The same for its superuser. */
    superuser: string
  }
}

export const TEMPLATE = 'perennial_template'

/** One Postgres for the whole suite; every test file clones a database of its own from a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-test-'))
  const embedded = await startEmbedded({ dataDir: folder, log: () => {} })
  // No test ends this server without a shutdown (the tests that do have servers of their own): nothing need reach the disk. The drop of
  // a database beside a busy disk took up to 30 s, because a checkpoint syncs everything first.
  const superuser = await superuserUrl(folder, embedded.url)
  await executeAll(superuser, ['alter system set fsync = off', 'select pg_reload_conf()', ...TEST_GRANTS])
  await executeAll(embedded.url, [`create database ${TEMPLATE}`])
  const template = new URL(embedded.url)
  template.pathname = `/${TEMPLATE}`
  await migrate(template.href)
  project.provide('postgres', embedded.url)
  project.provide('superuser', superuser)
  return async () => {
    await embedded.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
