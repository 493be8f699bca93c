import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordNotifications } from '../../../domain/purchases/store-inbox/record.ts'
import { type Outgoing, outgoing } from '../../../workflows/outgoing/outgoing.ts'
import { forwardPush } from '../../../workflows/stores/forward/forward-push.ts'
import { type EngineFixture, engineFixture } from '../../harness/engine-fixture.ts'
import { inboxOf, notification } from '../../harness/store-inbox.ts'

type Heard = Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { body: Buffer }
let heard: Heard[] = []
/** The statuses of the next answers; then 200. */
let statuses: number[] = []
/** Called before an answer. */
let before: (n: number) => Promise<unknown> = async () => {}
const proxy = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { method, url, headers } = request
  heard.push({ method, url, headers, body: Buffer.concat(chunks) })
  await before(heard.length)
  response.writeHead(statuses.shift() ?? 200, { location: '/elsewhere' }).end()
})

let fixture: EngineFixture
let open: Outgoing
let guarded: Outgoing
let project = 0
let url = ''
beforeAll(async () => {
  fixture = await engineFixture()
  open = outgoing({ allowPrivateNetwork: true })
  guarded = outgoing({ allowPrivateNetwork: false })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  project = (await fixture.pool.query('select project from environments where id = $1', [fixture.environment])).rows[0].project
})
beforeEach(async () => {
  heard = []
  statuses = []
  before = async () => {}
  await fixture.pool.query('update projects set proxy_url = $2, rtdn_proxy_url = $3 where id = $1', [
    project,
    `${url}/apple?a=1`,
    `${url}/google`,
  ])
})
afterEach(() => fixture.clear())
afterAll(async () => {
  proxy.closeAllConnections()
  await new Promise(resolve => proxy.close(resolve))
  await Promise.all([open.close(), guarded.close()])
  await fixture.drop()
})

const runs = async () =>
  (
    await fixture.pool.query<{ id: number; environment: number }>(
      `select id, environment from runs where workflow = 'store_forward' order by id`,
    )
  ).rows
/** Records the notification and executes its forwarding run. */
async function forwarded(given: Parameters<typeof notification>[1], through = open) {
  await recordNotifications(fixture.pool, [notification(project, given)])
  const [run] = await runs()
  await fixture.work([forwardPush({ pool: fixture.pool, outgoing: through })])
  const ended = await fixture.ended(run!.id)
  const { rows } = await fixture.pool.query<{ result: unknown; attempts: { error: string | null }[] }>(
    'select result, attempts from steps where run = $1',
    [run!.id],
  )
  return { ended, step: rows[0]! }
}

describe('a recorded push', () => {
  test('arrives as the same bytes, with its type and its name, and with nothing else that the store has sent', async () => {
    const body = new Uint8Array([0, 0xff, 0x7b, 0x0a, 0xc3, 0x28])
    const { ended, step } = await forwarded({ id: 'uuid-a', body, contentType: 'application/json; odd=é' })
    expect([ended.status, step.result]).toEqual(['succeeded', 'forwarded'])
    expect(heard).toHaveLength(1)
    const [{ method, url: path, headers, body: arrived }] = heard as [Heard]
    expect([method, path, [...arrived]]).toEqual(['POST', '/apple?a=1', [...body]])
    expect(headers).toMatchObject({ 'content-type': 'application/json; odd=é', 'webhook-id': 'apple:uuid-a' })
    expect(Object.keys(headers).sort()).toEqual(['accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'webhook-id'])
  })

  test('of Google goes to the other address, without a type where none came', async () => {
    await forwarded({ id: 'm1', platform: 'google', environment: null, contentType: null })
    expect(heard).toMatchObject([{ url: '/google', headers: { 'webhook-id': 'google:m1' } }])
    expect(heard[0]!.headers).not.toHaveProperty('content-type')
  })

  test('is sent again after 5xx and after a redirect, which is not followed, with the same name', async () => {
    statuses = [503, 302, 204]
    const { ended, step } = await forwarded({ id: 'again' })
    expect(ended.status).toBe('succeeded')
    expect(step.attempts.map(({ error }) => error)).toEqual(['answered 503', 'answered 302', null])
    expect(heard.map(({ url: path, headers }) => [path, headers['webhook-id']])).toEqual(Array(3).fill(['/apple?a=1', 'apple:again']))
  })

  test('is skipped once the address is cleared, also between two attempts', async () => {
    statuses = [500]
    before = () => fixture.pool.query('update projects set proxy_url = null where id = $1', [project])
    const { ended, step } = await forwarded({})
    expect([ended.status, step.result, heard.length]).toEqual(['succeeded', 'skipped', 1])
  })

  test('goes to the address of the attempt', async () => {
    statuses = [500]
    before = () => fixture.pool.query('update projects set proxy_url = $2 where id = $1', [project, `${url}/new`])
    await forwarded({})
    expect(heard.map(({ url: path }) => path)).toEqual(['/apple?a=1', '/new'])
  })

  test('is skipped when it has been erased', async () => {
    statuses = [500]
    before = () => fixture.pool.query('delete from store_inbox where project = $1', [project])
    expect((await forwarded({})).step.result).toBe('skipped')
  })

  test('reaches no private address where these are closed, and the run fails after its attempts', async () => {
    await fixture.pool.query('update projects set proxy_url = $2 where id = $1', [project, url.replace('http:', 'https:')])
    const { ended, step } = await forwarded({}, guarded)
    expect(ended.status).toBe('failed')
    expect(new Set(step.attempts.map(({ error }) => error))).toEqual(new Set(['address_refused']))
    expect(heard).toEqual([])
  })
})

test('one run is created for each new push where the project has an address for the store, under production', async () => {
  const push = notification(project, { environment: 'sandbox' })
  await recordNotifications(fixture.pool, [push, push])
  await recordNotifications(fixture.pool, [
    push,
    notification(project, { source: 'sweep' }),
    notification(project, { source: 'import' }),
    notification(project, { platform: 'stripe' }),
    notification(project, { platform: 'paddle' }),
  ])
  expect(await runs()).toMatchObject([{ environment: fixture.environment }])
  await fixture.pool.query('update projects set proxy_url = null where id = $1', [project])
  await recordNotifications(fixture.pool, [notification(project), notification(project, { platform: 'google', environment: null })])
  expect(await runs()).toHaveLength(2)
  expect((await inboxOf(fixture.pool, project)).length).toBeGreaterThan(6)
})
