import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { connect, type Pool } from '../../store/connect.ts'
import { postmasterOf } from '../../store/embedded/postmaster.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { asSuperuser, superuserUrl, TEST_GRANTS } from './superuser.ts'
import { until } from './until.ts'

export type TestPostgres = {
  url: string
  pool: Pool
  /**
   * Ends the server and waits until it accepts connections again, on the same port. `SIGINT`: as `pg_ctl stop -m fast`; the others without a
   * shutdown, `SIGQUIT` as `-m immediate`.
   */
  crash(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Closes all connections and refuses all above `most`, as a server with too few of them; null: without a limit again. */
  limitConnections(most: number | null): Promise<void>
  /** How many connections were refused because of that. */
  refusals(): Promise<number>
  /** How many deliveries are leased; it is asked over a connection without a limit. */
  liveLeases(): Promise<number>
  /** Stops all processes of the server, as when the disk does not respond. `thaw` continues them. */
  freeze(): Promise<void>
  thaw(): Promise<void>
  drop(): Promise<void>
}

const run = promisify(execFile)

/** Signals the postmaster first, so that no new process starts while the others get the signal. */
async function signalAll(cluster: string, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const { pid } = (await postmasterOf(cluster))!
  process.kill(pid, signal)
  const { stdout } = await run('pgrep', ['-P', String(pid)])
  // The process may have ended meanwhile.
  for (const child of stdout.trim().split('\n')) {
    try {
      process.kill(Number(child), signal)
    } catch {}
  }
}

/** A Postgres for one test. Its watchdog runs in this process and restarts the server when it dies. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-postgres-'))
  const embedded = await startEmbedded({ dataDir: folder, log: () => {} })
  await asSuperuser(folder, embedded.url, TEST_GRANTS)
  const pool = connect({ url: embedded.url, max: 5 })
  const superuser = connect({ url: await superuserUrl(folder, embedded.url), max: 1 })
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
    async limitConnections(most) {
      await superuser.query(`alter database perennial connection limit ${most ?? -1}`)
      if (most === null) return
      await superuser.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'perennial' and usename = 'perennial'`)
    },
    async refusals() {
      const logs = join(cluster, 'log')
      const texts = await Promise.all((await readdir(logs)).map(name => readFile(join(logs, name), 'utf8')))
      return texts.join('').split('too many connections for database').length - 1
    },
    async liveLeases() {
      const { rows } = await superuser.query(`select count(*) as n from due where kind = 'delivery' and lease_until > clock_timestamp()`)
      return Number(rows[0].n)
    },
    freeze: () => signalAll(cluster, 'SIGSTOP'),
    thaw: () => signalAll(cluster, 'SIGCONT'),
    async drop() {
      await pool.end()
      await superuser.end()
      // A test may have failed between `freeze` and `thaw`.
      await signalAll(cluster, 'SIGCONT').catch(() => {})
      await embedded.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
