import { lookup } from 'node:dns/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardedLookup, refuseLiteral } from '../../workflows/outgoing/guard.ts'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type Hostile, hostileServer } from '../harness/hostile.ts'

const guarded = outgoing({ allowPrivateNetwork: false })
const open = outgoing({ allowPrivateNetwork: true })
let four: Hostile
let six: Hostile

beforeAll(async () => {
  const greet = (socket: import('node:net').Socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi')
  four = await hostileServer(greet)
  six = await hostileServer(greet, '::1')
})
afterAll(async () => {
  await Promise.all([guarded.close(), open.close(), four.close(), six.close()])
})

const get = (url: string, way = guarded) => way.request({ method: 'GET', url, limitMs: 5000 })

describe('the operator’s own network', () => {
  test.each([
    'https://127.0.0.1:PORT/',
    'https://127.1:PORT/',
    'https://2130706433:PORT/',
    'https://0x7f000001:PORT/',
    'https://017700000001:PORT/',
    'https://0/',
    'https://[::1]:PORT/',
    'https://[::ffff:127.0.0.1]:PORT/',
    'https://[::ffff:7f00:1]:PORT/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://user:secret@10.0.0.1/',
    // Names: the address is judged that the resolver gives to the connection itself.
    'https://localhost:PORT/',
    'https://LOCALHOST:PORT/',
  ])('%s is refused, and nothing is connected', async url => {
    const before = four.connections + six.connections
    expect(await get(url.replace('PORT', String(four.port)))).toEqual({
      is: 'error',
      error: 'address_refused',
      durationMs: expect.any(Number),
    })
    expect(four.connections + six.connections).toBe(before)
  })

  test.each([
    'http://example.com/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'unix:/var/run/docker.sock',
    'not an address',
    '',
  ])('"%s" is refused: only https leaves the house', async url =>
    expect(await get(url)).toMatchObject({ is: 'error', error: 'address_refused' }))

  test('is open where the operator allows it, by IPv4, IPv6, name and plain http', async () => {
    expect(await get(four.url, open)).toMatchObject({ is: 'response', status: 200, text: 'hi' })
    expect(await get(six.url, open)).toMatchObject({ is: 'response', status: 200, text: 'hi' })
    const { family } = await lookup('localhost')
    expect(await get(`http://localhost:${family === 6 ? six.port : four.port}/`, open)).toMatchObject({ is: 'response', status: 200 })
  })

  test('a name that nobody knows is a failed connection', async () => {
    expect(await get('https://nobody.invalid/')).toMatchObject({ is: 'error', error: 'connection_failed' })
  })

  test.each([
    ['1.1.1.1 10.0.0.1 ::1 2606:4700::1', '1.1.1.1 2606:4700::1'],
    ['::ffff:10.0.0.1 8.8.8.8', '8.8.8.8'],
    ['192.168.0.1 fe80::1', 'address_refused'],
    ['', 'address_refused'],
  ])('of a name that resolves to "%s" remains "%s"', async (resolved, remains) => {
    const found = resolved
      .split(' ')
      .filter(Boolean)
      .map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    const send = (all: boolean) =>
      new Promise<string>(answer => {
        guardedLookup({ allowPrivateNetwork: false }, (_, __, callback) => callback(null, found))('name', { all }, (error, addresses) => {
          answer(error ? String(error.code) : typeof addresses === 'string' ? addresses : addresses.map(({ address }) => address).join(' '))
        })
      })
    expect(await send(true)).toBe(remains)
    expect(await send(false)).toBe(remains.split(' ')[0])
  })

  test('the lookup and the literals serve other clients, too', async () => {
    const send = (allowPrivateNetwork: boolean) =>
      new Promise<string>(resolve => {
        guardedLookup({ allowPrivateNetwork })('localhost', {}, (error, address) => resolve(error ? String(error.code) : String(address)))
      })
    expect(await send(false)).toBe('address_refused')
    expect(await send(true)).toMatch(/^(127\.0\.0\.1|::1)$/)
    expect(() => refuseLiteral('[::1]', { allowPrivateNetwork: false })).toThrow('private')
    expect(() => refuseLiteral('::1', { allowPrivateNetwork: true })).not.toThrow()
    expect(() => refuseLiteral('mail.example.com', { allowPrivateNetwork: false })).not.toThrow()
  })
})
