import { lchown, lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { type Account, commandAs, runCommand } from './command.ts'

/**
 * The user that Postgres runs as. undefined: the user of this process, which is not root. For root: the owner of the cluster if there is one
 * (a service that was not root may have created it), else a user for databases, else a new system user, else nobody.
 */
export async function unprivilegedAccount(cluster: string): Promise<Account | undefined> {
  if (getuid?.() !== 0) return undefined
  const owner = await lstat(cluster).catch(() => undefined)
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  for (const name of ['postgres', '_postgres', 'perennial']) {
    const account = await accountNamed(name)
    if (account !== undefined) return account
  }
  return (await newAccount('perennial')) ?? (await accountNamed('nobody')) ?? { uid: 65534, gid: 65534 }
}

async function accountNamed(name: string): Promise<Account | undefined> {
  // An image without an `id` program still has the file. macOS has its users elsewhere, and has `id`.
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = passwd.split('\n').map(line => line.split(':'))
  const line = fields.find(([user]) => user === name)
  const ids = line === undefined ? await idsOf(name) : [line[2], line[3]]
  const [uid, gid] = ids.map(Number)
  return uid !== undefined && gid !== undefined && uid > 0 && gid >= 0 ? { uid, gid } : undefined
}

async function idsOf(name: string): Promise<string[]> {
  const answers = await Promise.all(['-u', '-g'].map(flag => runCommand(commandAs(undefined, '/', 'id', [flag, name]))))
  return answers.every(({ code }) => code === 0) ? answers.map(({ output }) => output.trim()) : []
}

async function newAccount(name: string): Promise<Account | undefined> {
  const commands = [
    ['useradd', '--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent', '--shell', '/usr/sbin/nologin', name],
    ['adduser', '-S', '-D', '-H', '-s', '/sbin/nologin', name],
  ]
  for (const [file = '', ...args] of commands) {
    if ((await runCommand(commandAs(undefined, '/', file, args))).code === 0) return accountNamed(name)
  }
  return undefined
}

/** Changes the owner of a folder and of all below it to the account. Follows no symbolic link. */
export async function handOver(path: string, { uid, gid }: Account): Promise<void> {
  await lchown(path, uid, gid)
  if (!(await lstat(path)).isDirectory()) return
  for (const name of await readdir(path)) await handOver(join(path, name), { uid, gid })
}
