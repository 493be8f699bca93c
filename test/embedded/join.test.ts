import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { type Embedded, startEmbedded } from '../../store/embedded/start.ts'
import { begin, keep, kept, madeFolder, processesBelow, query, serverOf, service, temporaryFolder } from './processes.ts'

const quiet = () => undefined

test('services that start at once on an empty folder all get the same server, and the last one stops it', async () => {
  const dataDir = await temporaryFolder()
  const services = [begin(dataDir), begin(dataDir)]
  const urls = await Promise.all(services.map(({ ready }) => ready))
  expect(new Set(urls).size).toBe(1)
  const [first, second] = services
  expect(await first?.stop()).toContain('"stopped":true')
  expect(await query(urls[0] ?? '', 'select 1 as n')).toEqual([{ n: 1 }])
  expect(await second?.stop()).toContain('"stopped":true')
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a killed service no longer counts: the one that is left is the last', async () => {
  const dataDir = await madeFolder()
  const left = await startEmbedded({ dataDir, log: quiet })
  const killed = await service(dataDir)
  expect(killed.url).toBe(left.url)
  killed.kill('SIGKILL')
  await killed.ended
  await left.stop()
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a service that comes while the last one stops the server starts it anew', async () => {
  const dataDir = await madeFolder()
  let last = await startEmbedded({ dataDir, log: quiet })
  await keep(last.url)
  const servers = new Set([await serverOf(dataDir)])
  for (const delay of [0, 1, 2, 4, 8, 12, 16, 20, 25]) {
    const stopped = last.stop()
    await new Promise(resolve => setTimeout(resolve, delay))
    const next: Embedded = await startEmbedded({ dataDir, log: quiet })
    await stopped
    expect(await kept(next.url)).toBe(7)
    servers.add(await serverOf(dataDir))
    last = next
  }
  await last.stop()
  expect(servers.size).toBeGreaterThan(1)
  expect(await processesBelow(dataDir)).toEqual([])
})

test('all services may stop at once', async () => {
  const dataDir = await madeFolder()
  const services = await Promise.all([1, 2, 3, 4].map(() => startEmbedded({ dataDir, log: quiet })))
  await Promise.all(services.map(({ stop }) => stop()))
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a Ctrl-C reaches the service but not its database before the leases are released', async () => {
  const dataDir = await madeFolder()
  const running = await service(dataDir)
  const session = (pid: number) => execFileSync('ps', ['-o', 'sid=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  const server = await serverOf(dataDir)
  expect(session(server)).toBe(String(server))
  process.kill(-running.pid, 'SIGINT') // what a terminal does: to the whole foreground process group
  expect(await running.ended).toMatch(/"released":true(.|\n)*"stopped":true/)
  expect(await processesBelow(dataDir)).toEqual([])
})
