import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Host } from '../../store/address.ts'
import { driverFor } from '../../store/driver.ts'
import { primarySearch } from '../../store/primary.ts'

const OPTIONS = { user: 'u', database: 'd', ssl: false }

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int = (bytes: 2 | 4, value: number) => {
  const one = Buffer.alloc(bytes)
  one.writeIntBE(value, 0, bytes)
  return one
}
const READY = message('Z', Buffer.from('I'))
const HELLO = Buffer.concat([message('R', int(4, 0)), READY])
const BOOLEAN = 16
const TEXT = 25

/** The answer to a statement: one row. */
function row(values: Record<string, { type: number; text: string }>): Buffer {
  const columns = Object.entries(values)
  const described = columns.map(([name, { type }]) =>
    Buffer.concat([Buffer.from(`${name}\0`), int(4, 0), int(2, 0), int(4, type), int(2, -1), int(4, -1), int(2, 0)]),
  )
  const data = columns.map(([, { text }]) => Buffer.concat([int(4, text.length), Buffer.from(text)]))
  return Buffer.concat([
    message('T', Buffer.concat([int(2, columns.length), ...described])),
    message('D', Buffer.concat([int(2, columns.length), ...data])),
    message('C', Buffer.from('SELECT 1\0')),
    READY,
  ])
}

type FakeServer = {
  host: Host
  state: { timeline: string; system: string; afterMs: number; isAway: boolean; blocksMs: number }
  statements(): number
}

/** What a search asks of a Postgres that accepts writes. */
async function fakeServer(timeline: string, afterMs = 0, system = '7'): Promise<FakeServer> {
  const state = { timeline, system, afterMs, isAway: false, blocksMs: 0 }
  let statements = 0
  const answer = async (socket: Socket, part: Buffer) => {
    if (part[0] !== 'Q'.charCodeAt(0)) return part[0] === 0 ? void socket.write(HELLO) : undefined
    statements++
    await pause(state.afterMs)
    const text = (value: string) => ({ type: TEXT, text: value })
    const no = { type: BOOLEAN, text: 'f' }
    if (part.includes('pg_is_in_recovery')) socket.write(row({ isReplica: no, isReadOnly: no }))
    else socket.write(row({ timeline: text(state.timeline), system: text(state.system) }))
    // The answer is on its way, and this process reads nothing.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, state.blocksMs)
    state.blocksMs = 0
  }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (state.isAway) socket.destroy()
    else socket.on('data', part => void answer(socket, part))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { host: { host: '127.0.0.1', port: (server.address() as AddressInfo).port }, state, statements: () => statements }
}

const searchOf = (...servers: FakeServer[]) =>
  primarySearch(
    servers.map(({ host }) => host),
    OPTIONS,
  )

test('the first search waits for all hosts: the former primary may be the first that answers', async () => {
  const [former, promoted] = [await fakeServer('00000001'), await fakeServer('00000002', 300)]
  expect(await searchOf(former, promoted).find()).toEqual(promoted.host)
})

test('a host whose answer comes while this process is blocked has answered', async () => {
  const [former, promoted] = [await fakeServer('00000001'), await fakeServer('00000002', 300)]
  promoted.state.blocksMs = 3_500
  expect(await searchOf(former, promoted).find()).toEqual(promoted.host)
})

test('a server of an older timeline than one that was seen gets no connection, also when it answers alone', async () => {
  const [former, promoted] = [await fakeServer('00000001'), await fakeServer('00000002')]
  const search = searchOf(former, promoted)
  expect(await search.find()).toEqual(promoted.host)
  promoted.state.isAway = true
  search.forget()
  await expect(search.find()).rejects.toThrow(/its timeline 00000001 is old/)
  promoted.state.isAway = false
  promoted.state.afterMs = 300
  search.forget()
  expect(await search.find()).toEqual(promoted.host)
  // The next promotion is followed.
  former.state.timeline = '00000003'
  search.forget()
  expect(await search.find()).toEqual(former.host)
})

test('a new installation on the same hosts begins with its own timelines', async () => {
  const server = await fakeServer('00000005')
  const search = searchOf(server)
  expect(await search.find()).toEqual(server.host)
  Object.assign(server.state, { timeline: '00000001', system: '8' })
  search.forget()
  expect(await search.find()).toEqual(server.host)
})

test('of servers with the same timeline the order of the hosts decides, and not that of the answers', async () => {
  const [slow, quick] = [await fakeServer('00000001', 100), await fakeServer('00000001')]
  expect(await searchOf(slow, quick).find()).toEqual(slow.host)
  expect(await searchOf(quick, slow).find()).toEqual(quick.host)
})

test('pools of one address share a search', async () => {
  const server = await fakeServer('00000001')
  const url = `postgres://u@127.0.0.1:${server.host.port}/d?sslmode=disable&target_session_attrs=read-write`
  for (let n = 0; n < 2; n++) {
    const { Client, connectionString } = driverFor(url)
    const client = new Client({ connectionString })
    await client.connect()
    await client.end()
  }
  // One search: the state and the timeline.
  expect(server.statements()).toBe(2)
})
