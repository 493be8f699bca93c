import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type { OutgoingRequest } from '../../workflows/outgoing/outgoing.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type Hostile, hostileServer } from '../harness/hostile.ts'
import { until } from '../harness/until.ts'

const way = outgoing({ allowPrivateNetwork: true })
const servers: Hostile[] = []
const hostile = async (behave: (socket: Socket) => void, host?: string) => {
  const server = await hostileServer(behave, host)
  servers.push(server)
  return server
}
const post = (server: Hostile, more: Partial<OutgoingRequest> = {}) => way.request({ method: 'POST', url: server.url, body: '{}', ...more })
const says = (text: string) => (socket: Socket) => void socket.write(text)

afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.close()))
})
afterAll(() => way.close())

describe('whatever the other side does, one answer comes in bounded time and memory', () => {
  test('an answer is handed on with its status, text and wait', async () => {
    const server = await hostile(says('HTTP/1.1 429 Slow\r\nretry-after: 90\r\ncontent-length: 4\r\n\r\nwait'))
    expect(await post(server)).toEqual({
      is: 'response',
      status: 429,
      retryAfterSeconds: 90,
      text: 'wait',
      durationMs: expect.any(Number),
      headers: expect.objectContaining({ 'retry-after': '90' }),
    })
    expect(server.heard).toMatch(/accept-encoding: identity/i)
  })

  test.each([
    ['accepts and says nothing', ''],
    ['stops within the headers', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['stops within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'],
    ['promises an answer for ever', 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('one that %s is a timeout, and its connection is closed', async (_, text) => {
    const server = await hostile(says(text))
    expect(await post(server, { limitMs: 150 })).toEqual({ is: 'error', error: 'timeout', durationMs: expect.any(Number) })
    await until('the connection is closed', () => (server.open.size === 0 ? true : undefined))
  })

  test('one byte every few milliseconds does not stretch the limit', async () => {
    const server = await hostile(socket => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
      const drip = setInterval(() => socket.write('x'), 10)
      socket.on('close', () => clearInterval(drip))
    })
    expect(await post(server, { limitMs: 300 })).toMatchObject({ is: 'error', error: 'timeout' })
  })

  test('an answer without end is cut at 64 KiB and its connection destroyed', async () => {
    const server = await hostile(socket => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write('x'.repeat(16_384))) {}
      }
      socket.on('drain', more)
      more()
    })
    const answer = await post(server)
    expect(answer).toMatchObject({ is: 'response', status: 200, isCut: true })
    expect(answer.is === 'response' && answer.text.length).toBe(65_536)
    const longer = await post(server, { answerBytes: 1 << 20 })
    expect(longer.is === 'response' && [longer.text.length, longer.isCut]).toEqual([1 << 20, true])
    await until('the connection is closed', () => (server.open.size === 0 ? true : undefined))
  })

  test.each<[string, (socket: Socket) => void]>([
    ['before the answer', socket => socket.resetAndDestroy()],
    ['within the body', socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal', () => socket.resetAndDestroy())],
    ['politely within the body', socket => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhal')],
  ])('a connection lost %s is no answer', async (_, behave) => {
    expect(await post(await hostile(behave))).toMatchObject({
      is: 'error',
      error: expect.stringMatching(/^(connection_failed|answer_unreadable)$/),
    })
  })

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x-more: 1234567890\r\n'.repeat(5000)}`],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ])('%s is an unreadable answer', async (_, text) => {
    expect(await post(await hostile(says(text)))).toMatchObject({ is: 'error', error: 'answer_unreadable' })
  })

  test('nobody listening is a failed connection', async () => {
    const server = await hostile(() => {})
    await server.close()
    expect(await post(server)).toMatchObject({ is: 'error', error: 'connection_failed' })
  })

  test('a packed answer stays packed', async () => {
    const bomb = gzipSync(Buffer.alloc(30_000_000))
    const server = await hostile(socket => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`)
      socket.write(bomb)
    })
    const answer = await post(server)
    expect(answer.is === 'response' && answer.text.length).toBeLessThanOrEqual(65_536)
  })

  test.each([301, 302, 303, 307, 308])('a %i is the answer; nobody follows it', async status => {
    const target = await hostile(says('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
    const server = await hostile(says(`HTTP/1.1 ${status} Away\r\nlocation: ${target.url}\r\ncontent-length: 0\r\n\r\n`))
    expect(await post(server)).toMatchObject({ is: 'response', status })
    expect(target.connections).toBe(0)
  })

  test('our own stop is thrown, not recorded as a failure of the other side', async () => {
    const server = await hostile(() => {})
    const lost = new AbortController()
    const requested = post(server, { signal: lost.signal })
    await until('the request is there', () => (server.heard.includes('{}') ? true : undefined))
    lost.abort(new Error('the lease is lost'))
    await expect(requested).rejects.toThrow('the lease is lost')
    await until('the connection is closed', () => (server.open.size === 0 ? true : undefined))
    await expect(post(server, { signal: lost.signal })).rejects.toThrow('the lease is lost')
  })

  test('a header that cannot be sent is a failed attempt', async () => {
    const server = await hostile(() => {})
    expect(await post(server, { headers: { authorization: 'Basic a\r\nx-other: b' } })).toMatchObject({
      is: 'error',
      error: 'request_invalid',
    })
    expect(server.connections).toBe(0)
  })
})

describe('connections', () => {
  test('are kept for the next request, and no request waits for one', async () => {
    const server = await hostile(socket => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
    const get = () => way.request({ method: 'GET', url: server.url })
    for (let i = 0; i < 20; i++) await get()
    // The next request may start a moment before the last one has given its connection back.
    expect(server.connections).toBeLessThan(5)
  })

  test('to a receiver that hangs keep no other request to it from being sent', async () => {
    const server = await hostile(() => {})
    const patience = new AbortController()
    const requested = Array.from({ length: 200 }, () => way.request({ method: 'GET', url: server.url, signal: patience.signal }))
    const ended = Promise.allSettled(requested)
    await until('all of them are sent', () => server.connections === 200 || undefined)
    patience.abort(new Error('enough'))
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true)
  })
})
