import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../../store/connect.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { migrate } from '../../store/migrate.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection string of the suite's server. */
    postgres: string
  }
}

export const TEMPLATE = 'perennial_template'

/** One Postgres for the whole suite; every test file clones a database of its own from a migrated template. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-test-'))
  const embedded = await startEmbedded({ dataDir: folder, log: () => {} })
  const pool = connect({ url: embedded.url, max: 1 })
  await pool.query(`create database ${TEMPLATE}`)
  await pool.end()
  const template = new URL(embedded.url)
  template.pathname = `/${TEMPLATE}`
  await migrate(template.href)
  project.provide('postgres', embedded.url)
  return async () => {
    await embedded.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
