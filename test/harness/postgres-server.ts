import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect, type Pool } from '../../store/connect.ts'
import { postmasterOf } from '../../store/embedded/postmaster.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { until } from './until.ts'

export type TestPostgres = {
  url: string
  pool: Pool
  /** Ends it without a shutdown and waits until it takes connections again, on the same port. `SIGQUIT`: as `pg_ctl stop -m immediate` does. */
  crash(signal: 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Lets all of it stand still, as a disk does that no longer answers; and go on. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  drop(): Promise<void>
}

const run = promisify(execFile)

/** The postmaster first: nothing of it begins while the others are told. */
async function tellAll(cluster: string, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const { pid } = (await postmasterOf(cluster))!
  process.kill(pid, signal)
  const { stdout } = await run('pgrep', ['-P', String(pid)])
  // One that has ended meanwhile needs no telling.
  for (const child of stdout.trim().split('\n')) {
    try {
      process.kill(Number(child), signal)
    } catch {}
  }
}

/** A Postgres of the test's own. Who watches over it lives in this process, and starts it again whenever it dies. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-postgres-'))
  const embedded = await startEmbedded({ dataDir: folder, log: () => {} })
  const pool = connect({ url: embedded.url, max: 5 })
  const cluster = join(folder, 'postgres')
  return {
    url: embedded.url,
    pool,
    async crash(signal) {
      const victim = (await postmasterOf(cluster))!
      process.kill(victim.pid, signal)
      await until(
        'another server',
        async () => {
          const server = await postmasterOf(cluster)
          if (!server?.ready || server.pid === victim.pid) return undefined
          return pool.query('select 1').then(
            () => true,
            () => undefined,
          )
        },
        60_000,
      )
    },
    freeze: () => tellAll(cluster, 'SIGSTOP'),
    thaw: () => tellAll(cluster, 'SIGCONT'),
    async drop() {
      await pool.end()
      // Somebody may have failed in the middle.
      await tellAll(cluster, 'SIGCONT').catch(() => {})
      await embedded.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
