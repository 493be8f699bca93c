import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { unprivilegedAccount } from '../../store/embedded/account.ts'
import { binariesFor } from '../../store/embedded/binaries.ts'
import { commandAs, runCommand } from '../../store/embedded/command.ts'
import { pathFor } from '../../store/embedded/folder-path.ts'
import type { Resources } from '../resources.ts'

/** Seconds of each of the two steps, which follow each other. */
export type BareStart = { initdb: number; firstQuery: number }

/** A start by hand with the same binaries: initdb, start, connect until the server responds. Choosing the account (as root) is not timed. */
export async function bareStart(resources: Resources, name: string): Promise<BareStart> {
  const folder = join(resources.folder, name)
  const cluster = join(folder, 'cluster')
  const account = await unprivilegedAccount(cluster)
  const { postgres, initdb } = await binariesFor(account, folder)
  await mkdir(cluster, { recursive: true })
  const password = join(folder, 'password')
  await writeFile(password, randomBytes(24).toString('base64url'))
  if (account) for (const path of [folder, cluster, password]) await chown(path, account.uid, account.gid)
  const pgdata = await pathFor(account, cluster)
  const port = await freePort()

  const began = performance.now()
  const initialized = await runCommand(
    commandAs(account, cluster, initdb, [
      `--pgdata=${pgdata}`,
      '--username=bench',
      '--pwfile=../password',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
    ]),
  )
  if (initialized.code !== 0) throw new Error(initialized.output)
  const ready = performance.now()

  const { file, args, options } = commandAs(account, cluster, postgres, [
    '-D',
    pgdata,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'unix_socket_directories=',
  ])
  const server = spawn(file, args, { ...options, stdio: 'ignore' })
  const ended = new Promise<void>(resolve => server.once('exit', () => resolve()))
  const stop = async () => {
    server.kill('SIGINT')
    await ended
  }
  resources.undo(stop)
  await firstQuery(port)
  const answered = performance.now()
  await stop()
  return { initdb: (ready - began) / 1000, firstQuery: (answered - ready) / 1000 }
}

async function firstQuery(port: number): Promise<void> {
  for (const limit = performance.now() + 30_000; ; await sleep(5)) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'bench', database: 'postgres' })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('select 1')
      return
    } catch (error) {
      if (performance.now() > limit) throw error
    } finally {
      await client.end().catch(() => {})
    }
  }
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
