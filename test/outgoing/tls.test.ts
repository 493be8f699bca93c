import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { outgoing } from '../../workflows/outgoing/outgoing.ts'
import { type Hostile, hostileServer } from '../harness/hostile.ts'
import { selfSigned } from '../harness/self-signed.ts'

const way = outgoing({ allowPrivateNetwork: true })
let heard = 0
const stranger = createServer(selfSigned, (_, response) => {
  heard++
  response.end('hi')
})
let plain: Hostile

beforeAll(async () => {
  await new Promise<void>(resolve => stranger.listen(0, '127.0.0.1', resolve))
  plain = await hostileServer(socket => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
})
afterAll(async () => {
  await Promise.all([way.close(), plain.close(), new Promise(resolve => stranger.close(resolve))])
})

const post = (port: number) => way.request({ method: 'POST', url: `https://127.0.0.1:${port}/`, body: 'secret' })

test('a certificate that nobody vouches for gets to hear nothing', async () => {
  expect(await post((stranger.address() as AddressInfo).port)).toMatchObject({ is: 'error', error: 'tls_failed' })
  expect(heard).toBe(0)
})

test('plain http behind https gets to hear nothing', async () => {
  expect(await post(plain.port)).toMatchObject({ is: 'error', error: 'tls_failed' })
  expect(plain.heard).not.toContain('secret')
})
