import { execFileSync } from 'node:child_process'
import { chmod, chown, lstat, mkdir, readdir, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { asSuperuser } from '../harness/superuser.ts'
import { installation, runtimeFor } from './installation.ts'
import { kill, processesBelow, query, serverOf, service, temporaryFolder } from './processes.ts'

const isRoot = process.getuid?.() === 0
const ordinary = isRoot ? { uid: 65_534, gid: 65_534 } : undefined

async function folderOf(account: typeof ordinary, path: string, mode = 0o700): Promise<string> {
  await mkdir(path)
  if (account !== undefined) await chown(path, account.uid, account.gid)
  await chmod(path, mode)
  return path
}

test('an ordinary user: a copy of the binaries where the installation is read-only and lacks links, and what is refused', async () => {
  const folder = await temporaryFolder(0o755)
  const script = installation(join(folder, 'installation'))
  const where = { script, as: ordinary, runtime: await runtimeFor(ordinary, folder) }
  execFileSync('find', [join(folder, 'installation'), '-type', 'l', '-name', 'lib*', '-delete'])
  execFileSync('chmod', ['-R', 'a-w', join(folder, 'installation')])
  onTestFinished(() => void execFileSync('chmod', ['-R', 'u+w', folder]))

  const data = await folderOf(ordinary, join(folder, 'data'))
  const running = await service(data, where)
  const server = await serverOf(data)
  expect(await realpath(`/proc/${server}/exe`)).toContain(join(data, '.postgres-binaries'))
  expect((await stat(`/proc/${server}`)).uid).toBe(ordinary?.uid ?? process.getuid?.())
  expect(await running.stop()).toContain('"stopped":true')
  expect(await processesBelow(data)).toEqual([])

  await chmod(join(data, 'postgres'), 0)
  await expect(service(data, where)).rejects.toThrow(/is not accessible to this user/)
  const locked = await folderOf(ordinary, join(folder, 'locked'), 0o555)
  await expect(service(locked, where)).rejects.toThrow(/is not accessible to this user: .*set DATA_DIR/)
  await expect(service(join(locked, 'data'), where)).rejects.toThrow(/is not accessible to this user/)
  if (ordinary === undefined) return
  const nameless = { uid: 54_321, gid: 54_321 }
  const theirs = await folderOf(nameless, join(folder, 'theirs'))
  await expect(service(theirs, { ...where, as: nameless })).rejects.toThrow(/54321.* Run as a user that .etc.passwd knows/)
  expect((await readdir(theirs)).sort()).toEqual(['.postgres-binaries', 'perennial.json'])
  await chmod(join(data, 'postgres'), 0o755)
  await chown(join(data, 'postgres'), 0, 0)
  await expect(service(data, where)).rejects.toThrow(/is not accessible to this user|belongs to another user/)
})

// What only root can meet is only to be seen as root.
if (isRoot)
  test('as root, with the installation and the data below folders of 0700, it starts, recovers and stops', async () => {
    const home = await temporaryFolder(0o700)
    const script = installation(join(home, 'installation'))
    const data = join(home, 'data')
    const first = await service(data, { script })
    const server = await serverOf(data)
    const binary = await realpath(`/proc/${server}/exe`)
    const copy = dirname(dirname(binary))
    const { ino } = await lstat(binary)
    onTestFinished(async () => {
      await rm(copy, { recursive: true, force: true })
      await rmdir(dirname(copy)).catch(() => undefined) // only if it is empty
    })
    expect((await stat(`/proc/${server}`)).uid).not.toBe(0)
    expect(copy.startsWith(home)).toBe(false)
    await query(first.url, 'create table kept as select 7 as n')
    await asSuperuser(data, first.url, ['checkpoint'])
    await query(first.url, 'insert into kept values (8)')
    first.kill('SIGKILL')
    await first.ended
    const adopting = await service(data, { script })
    expect(await serverOf(data)).toBe(server)
    adopting.kill('SIGKILL')
    await adopting.ended
    kill(server, 'SIGKILL')

    // The copy is used again, but not once somebody else could have changed it.
    expect((await lstat(binary)).ino).toBe(ino)
    await chown(binary, 54_321, 54_321)
    const second = await service(data, { script })
    expect(await query(second.url, 'select array_agg(n order by n) from kept')).toEqual([{ array_agg: [7, 8] }])
    expect(await lstat(binary)).toMatchObject({ uid: 0 })
    expect((await lstat(binary)).ino).not.toBe(ino)
    expect(await second.stop()).toContain('"stopped":true')
    expect(await processesBelow(data)).toEqual([])

    expect(await stat(home)).toMatchObject({ uid: 0, mode: 0o40700 })
    expect(await stat(data)).toMatchObject({ uid: 0 })
    expect((await readdir(data)).sort()).toEqual(['perennial.json', 'postgres'])
  })
