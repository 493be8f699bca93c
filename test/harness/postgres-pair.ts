import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Pool } from '../../store/connect.ts'
import { unprivilegedAccount } from '../../store/embedded/account.ts'
import { type Account, commandAs, runCommand } from '../../store/embedded/command.ts'
import { launch, postmasterOf, shutDown } from '../../store/embedded/postmaster.ts'
import { createCluster, installedPostgres } from './debian-postgres.ts'
import { executeAll } from './superuser.ts'
import { until } from './until.ts'

/** A primary and its replica, each commit of which waits for the replica. `ports`: of the primary and of the replica. */
export type PostgresPair = {
  ports: [primary: number, replica: number]
  /** With both hosts. */
  url: string
  pool: Pool
  /** Kills the primary without a shutdown, and promotes the replica. */
  failOver(): Promise<void>
  /** Starts the former primary again, as a server that knows nothing of the promotion. */
  returnUnaware(): Promise<void>
  drop(): Promise<void>
}

const DATABASE = 'perennial'

export async function startPostgresPair(): Promise<PostgresPair> {
  const { folder } = await installedPostgres()
  const parent = await mkdtemp(join(tmpdir(), 'perennial-pair-'))
  await chmod(parent, 0o711)
  const [first, second] = [join(parent, 'first'), join(parent, 'second')]
  const account = await unprivilegedAccount(first)
  const program = (name: string) => join(folder, name)
  const start = async (cluster: string, port?: number): Promise<number> => {
    const failure = await launch({ cluster, postgres: program('postgres'), account, ...(port && { port }) })
    if (failure) throw new Error(`Postgres does not start: ${failure}`)
    return (await postmasterOf(cluster))!.port
  }
  await createCluster(program('initdb'), first, account)
  const primary = await start(first)
  const at = (port: number, user: string, database: string) => `postgres://${user}@127.0.0.1:${port}/${database}?sslmode=disable`
  const superuser = at(primary, 'postgres', 'postgres')
  // An owner of the database, as managed services give one, and nothing else.
  await executeAll(superuser, ['create role perennial login', `create database ${DATABASE} owner perennial`])
  await copied({ account, program: program('pg_basebackup'), from: primary, to: second, parent })
  const replica = await start(second)
  // Not in the copy: a promoted server without a replica of its own must not wait for one.
  await executeAll(superuser, [`alter system set synchronous_standby_names = '*'`, 'select pg_reload_conf()'])
  await until('a synchronous replica', async () => {
    const pool = connect({ url: superuser, max: 1 })
    const { rows } = await pool.query('select sync_state from pg_stat_replication')
    await pool.end()
    return rows[0]?.sync_state === 'sync' || undefined
  })
  const url = `postgres://perennial@127.0.0.1:${primary},127.0.0.1:${replica}/${DATABASE}?sslmode=disable&target_session_attrs=read-write`
  const pool = connect({ url, max: 5 })
  const stop = async (cluster: string) => {
    const server = await postmasterOf(cluster)
    if (server) await shutDown(server, cluster)
  }
  return {
    ports: [primary, replica],
    url,
    pool,
    async failOver() {
      process.kill((await postmasterOf(first))!.pid, 'SIGKILL')
      await executeAll(at(replica, 'postgres', 'postgres'), ['select pg_promote()'])
    },
    async returnUnaware() {
      // The setting would make every one of its commits wait.
      await rm(join(first, 'postgresql.auto.conf'))
      await start(first, primary)
    },
    async drop() {
      await pool.end()
      await stop(first)
      await stop(second)
      await rm(parent, { recursive: true, force: true })
    },
  }
}

type Copied = { account: Account | undefined; program: string; from: number; to: string; parent: string }

async function copied({ account, program, from, to, parent }: Copied): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  if (account) await chown(to, account.uid, account.gid)
  const where = ['--host=127.0.0.1', `--port=${from}`, '--username=postgres', `--pgdata=${to}`]
  const how = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync']
  const { code, output } = await runCommand(commandAs(account, parent, program, [...where, ...how]))
  if (code !== 0) throw new Error(`no copy of the primary: ${output}`)
}
