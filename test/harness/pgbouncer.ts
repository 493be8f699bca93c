import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../store/connect.ts'
import { unprivilegedAccount } from '../../store/embedded/account.ts'
import { commandAs } from '../../store/embedded/command.ts'
import { requireCommand } from './debian-package.ts'
import { freePort } from './redis.ts'
import { until } from './until.ts'

/** `url`: the address of a database of the server, through the pooler. */
export type PgBouncer = { url(database: string): string; end(): Promise<void> }

/** PgBouncer before the server of `server`, the address of one of its databases. `sessions`: the most that it opens to a database. */
export async function startPgBouncer(server: string, mode: 'transaction' | 'session', sessions: number): Promise<PgBouncer> {
  await requireCommand('pgbouncer')
  const { hostname, port: to, username, password } = new URL(server)
  const folder = await mkdtemp(join(tmpdir(), 'perennial-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await freePort()
  const login = [`user=${decodeURIComponent(username)}`, ...(password ? [`password=${decodeURIComponent(password)}`] : [])].join(' ')
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${to} ${login}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    `default_pool_size = ${sessions}`,
    'max_client_conn = 500',
  ]
  const config = join(folder, 'pgbouncer.ini')
  await writeFile(config, `${lines.join('\n')}\n`)
  // It does not run as root.
  const { file, args, options } = commandAs(await unprivilegedAccount(join(folder, 'none')), folder, 'pgbouncer', [config])
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr?.on('data', chunk => {
    output += chunk
  })
  const ended = once(child, 'exit')
  const url = (database: string) => `postgres://perennial@127.0.0.1:${port}/${database}`
  await until('PgBouncer', async () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer has ended: ${output}`)
    const pool = connect({ url: url(new URL(server).pathname.slice(1)), sharesSessions: true, max: 1 })
    const answer = await pool.query('select 1').then(
      () => true,
      () => undefined,
    )
    await pool.end()
    return answer
  })
  return {
    url,
    async end() {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
