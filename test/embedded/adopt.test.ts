import { spawn } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { unprivilegedAccount } from '../../store/embedded/account.ts'
import { commandAs } from '../../store/embedded/command.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { asSuperuser } from '../harness/superuser.ts'
import { exists, keep, kept, kill, madeFolder, processesBelow, query, serverOf, service, temporaryFolder, until } from './processes.ts'

const quiet = () => undefined

test('a server that outlived its killed service is adopted by the next one, which stops it', async () => {
  const dataDir = await madeFolder()
  const killed = await service(dataDir)
  await keep(killed.url)
  const server = await serverOf(dataDir)
  killed.kill('SIGKILL')
  await killed.ended

  const next = await startEmbedded({ dataDir, log: quiet })
  expect(await serverOf(dataDir)).toBe(server)
  expect(next.url).toBe(killed.url)
  expect(await kept(next.url)).toBe(7)
  await next.stop()
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a killed server recovers at the next start, with all that was committed', async () => {
  const dataDir = await madeFolder()
  const killed = await service(dataDir)
  await keep(killed.url)
  const server = await serverOf(dataDir)
  killed.kill('SIGKILL')
  await killed.ended
  kill(server, 'SIGKILL')
  expect(await exists(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(true)

  const next = await startEmbedded({ dataDir, log: quiet })
  expect(await serverOf(dataDir)).not.toBe(server)
  expect(await kept(next.url)).toBe(7)
  await next.stop()
})

test('a server that is killed below a living service comes back at the same address', async () => {
  const dataDir = await madeFolder()
  const logs: string[] = []
  const { url, stop } = await startEmbedded({ dataDir, log: message => logs.push(message) })
  await keep(url)
  kill(await serverOf(dataDir), 'SIGKILL')
  await until(async () => logs.some(message => message.includes('is back')))
  expect(await kept(url)).toBe(7)
  await stop()
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a postmaster.pid whose number is of another program now, or of none, stops no start', async () => {
  const dataDir = await madeFolder()
  const first = await startEmbedded({ dataDir, log: quiet })
  const path = join(dataDir, 'postgres', 'postmaster.pid')
  const lines = (await readFile(path, 'utf8')).split('\n')
  await first.stop()
  // Postgres itself gives up at any living process of its own user.
  const { file, args } = commandAs(await unprivilegedAccount(join(dataDir, 'postgres')), '/', 'sleep', ['600'])
  const stranger = spawn(file, args)
  for (const pid of [process.pid, stranger.pid, 4_194_305]) {
    await writeFile(path, [pid, ...lines.slice(1)].join('\n'))
    const { url, stop } = await startEmbedded({ dataDir, log: quiet })
    expect(await query(url, "select current_setting('data_directory') d")).toEqual([{ d: join(dataDir, 'postgres') }])
    await stop()
  }
  expect(stranger.kill()).toBe(true)
})

test('a server that another folder was copied from is not adopted', async () => {
  const [original, copy] = [await madeFolder(), await temporaryFolder()]
  const first = await startEmbedded({ dataDir: original, log: quiet })
  await keep(first.url)
  await asSuperuser(original, first.url, ['checkpoint'])
  await cp(original, copy, { recursive: true })
  const second = await startEmbedded({ dataDir: copy, log: quiet })
  expect(second.url).not.toBe(first.url)
  await query(first.url, 'update kept set n = 8')
  expect(await kept(second.url)).toBe(7)
  await Promise.all([first.stop(), second.stop()])
})

test('a server that does not start says why, and soon', async () => {
  const dataDir = await madeFolder()
  const path = join(dataDir, 'postgres', 'postgresql.conf')
  const before = await readFile(path, 'utf8')
  onTestFinished(() => writeFile(path, before))
  await writeFile(path, `${before}\nshared_preload_libraries = nonsense\n`)
  const began = performance.now()
  await expect(startEmbedded({ dataDir, log: quiet })).rejects.toThrow(/does not start in .*nonsense.*See its log/)
  expect(performance.now() - began).toBeLessThan(10_000)
  expect(await processesBelow(dataDir)).toEqual([])
})
