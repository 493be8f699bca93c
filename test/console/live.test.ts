// Streams of what changes: topics, limits, and their end.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Watcher } from '../../api/console/live/hub.ts'
import { newEvents } from '../../api/console/live/new-events.ts'
import { liveStream } from '../../api/console/live/stream.ts'
import { announceLive, liveTopicOf } from '../../domain/durable/live.ts'
import { setRole } from '../../domain/operators/accounts.ts'
import type { SessionOwner } from '../../domain/operators/session-owner.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { consoleOf, type FakeConsole, fakeConsole } from '../harness/console.ts'
import { item } from '../harness/events.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let pages: FakeConsole
beforeAll(async () => {
  pages = await fakeConsole()
  api = await startApi({ console: pages, worker: true })
})
afterAll(async () => {
  await api.stop()
  await pages.remove()
})

async function signedIn(role: 'viewer' | null = 'viewer') {
  const { id, email } = await newOperator(api)
  if (role) await transaction(api.pool, tx => setRole(tx, id, api.project.id, role))
  const browser = visitor(api.url)
  await browser.signIn(email)
  return { id, call: consoleOf(api.url, browser), cookie: `perennial=${browser.cookies.get('perennial')}` }
}

type Told = { topic: string; ids: string[] }

/** A stream as a browser reads it. `ended`: resolves when nothing more comes. */
async function watch(cookie: string, query = '', kind = 'production') {
  const stopped = new AbortController()
  const path = `/console/api/${api.project.id}/${kind}/live${query}`
  const answer = await fetch(api.url + path, { headers: { Cookie: cookie }, signal: stopped.signal })
  const told: (Told & { at: number })[] = []
  const read = async () => {
    let text = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      const parts = text.split('\n\n')
      text = parts.pop()!
      for (const part of parts) if (part.startsWith('data: ')) told.push({ ...JSON.parse(part.slice(6)), at: performance.now() })
    }
  }
  const ended = read().catch(() => {})
  const of = (topic: string) => told.filter(one => one.topic === topic)
  const first = (topic: string) => until(topic, () => of(topic)[0])
  return { answer, told, of, first, ended, close: () => stopped.abort() }
}

const post = () => api.call('POST', '/v4/events', { body: { events: [item({ happened_at: new Date().toISOString() })] } })

describe('a stream', () => {
  test('tells new events of its environment by their ids, and nothing of others', async () => {
    const { cookie } = await signedIn()
    const [production, sandbox] = [await watch(cookie, '?topics=events'), await watch(cookie, '?topics=events', 'sandbox')]
    expect(production.answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(production.answer.headers.get('cache-control')).toBe('no-store')
    const made: string[] = []
    await until('an event', async () => {
      made.push((await post()).body.results[0].id)
      await new Promise(resolve => setTimeout(resolve, 300))
      return production.of('events').find(({ ids }) => ids.length > 0)
    })
    const ids = production.told.flatMap(told => told.ids)
    expect(ids.length).toBeGreaterThan(0)
    expect(ids.filter(id => !made.includes(id))).toEqual([])
    expect(new Set([...production.told, ...sandbox.told].map(({ topic }) => topic))).toEqual(new Set(['events']))
    expect(sandbox.told.flatMap(told => told.ids)).toEqual([])
    production.close()
    sandbox.close()
  })

  test('tells an event that comes at the moment when it opens', async () => {
    const { cookie } = await signedIn()
    // Somebody watches another environment, and looks are under way.
    const other = await watch(cookie, '?topics=events', 'sandbox')
    await new Promise(resolve => setTimeout(resolve, 1_200))
    const one = await watch(cookie, '?topics=events')
    await post()
    const after = performance.now()
    await until('the event', () => one.of('events').find(({ at }) => at > after))
    one.close()
    other.close()
  })

  test('tells what workers have done, at most twice a second', async () => {
    const { cookie } = await signedIn()
    const { of, close } = await watch(cookie, '?topics=exports,runs')
    await until('a connection', async () => {
      announceLive(api.pool, 'exports', api.project.production)
      return of('exports')[0]
    })
    const began = of('exports').length
    const from = performance.now()
    for (let n = 0; n < 40; n++) {
      announceLive(api.pool, 'exports', api.project.production)
      await new Promise(resolve => setTimeout(resolve, 25))
    }
    const told = of('exports').length - began
    expect(told).toBeGreaterThanOrEqual(2)
    // Over the whole time: of two that come late the second one may be there at once. The first and the last belong to no half second.
    expect(told).toBeLessThanOrEqual((performance.now() - from) / 500 + 2)
    // An export that a worker writes.
    const before = of('exports').length
    const made = await api.call('POST', '/v4/exports', { body: WHOLE_YEAR })
    expect([made.status, made.text]).toEqual([202, expect.any(String)])
    await until('the export', () => of('exports')[before])
    expect(of('runs')).toEqual([])
    close()
  })

  test.each([
    ['?topics=nothing', 400],
    ['?topics=', 400],
    ['?topic=events', 400],
  ])('%s is refused', async (query, status) => {
    const { cookie } = await signedIn()
    expect((await watch(cookie, query)).answer.status).toBe(status)
  })

  test('needs a session and a role', async () => {
    expect((await watch('')).answer.status).toBe(401)
    expect((await watch((await signedIn(null)).cookie)).answer.status).toBe(404)
  })

  test('ends with sign-out, with the role, and where a second factor is demanded that the session lacks', async () => {
    const [one, other, third] = [await signedIn(), await signedIn(), await signedIn()]
    const [left, lost, lacking] = [await watch(one.cookie), await watch(other.cookie), await watch(third.cookie)]
    await one.call('POST', '/session/end')
    await api.pool.query('delete from operator_roles where operator = $1', [other.id])
    await api.pool.query('update operators set needs_second_factor = true where id = $1', [third.id])
    await Promise.all([left.ended, lost.ended, lacking.ended])
  }, 30_000)

  test('is one of 20 of an operator', async () => {
    const { cookie } = await signedIn()
    const open = await Promise.all(Array.from({ length: 20 }, () => watch(cookie)))
    expect(new Set(open.map(({ answer }) => answer.status))).toEqual(new Set([200]))
    const more = await watch(cookie)
    expect([more.answer.status, more.answer.headers.get('retry-after')]).toEqual([429, '10'])
    for (const { close } of open) close()
    await until('a place', async () => {
      const again = await watch(cookie)
      again.close()
      return again.answer.status === 200 || undefined
    })
  })
})

test('every kind of job that people watch has a topic', () => {
  const kinds = ['automation-run', 'automation-run.v2', 'delivery', 'report-slot', 'scheduled-report', 'report-delivery', 'export', 'rates']
  expect(kinds.map(liveTopicOf)).toEqual(['runs', 'runs', 'deliveries', 'reports', 'reports', 'reports', 'exports', null])
})

test('a busy log is looked at twice a second', async () => {
  let reads = 0
  const query = (...given: Parameters<typeof api.pool.query>) => {
    reads++
    return api.pool.query(...given)
  }
  const { start, look, stop } = newEvents(
    { query } as unknown as Pool,
    () => [api.project.production],
    () => {},
  )
  start()
  for (const until = performance.now() + 1_300; performance.now() < until; ) {
    look()
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  stop()
  expect(reads).toBeGreaterThanOrEqual(2)
  expect(reads).toBeLessThanOrEqual(4)
})

test('a stream whose end nobody reads is given up', () => {
  const watchers: Watcher[] = []
  const watch = (one: Watcher) => {
    watchers.push(one)
    return () => {}
  }
  const stream = liveStream({ watch, close: async () => {} }, {} as SessionOwner, undefined)
  watchers[0]!.end()
  expect(stream.destroyed).toBe(false)
  watchers[0]!.end()
  expect(stream.destroyed).toBe(true)
})

test('an API that stops ends its streams and does not wait for them, nor for browsers that come back', async () => {
  const own = await startApi({ console: pages })
  const { email } = await newOperator(own, { isOwner: true })
  const browser = visitor(own.url)
  await browser.signIn(email)
  const cookie = `perennial=${browser.cookies.get('perennial')}`
  const open = () => fetch(`${own.url}/console/api/${own.project.id}/production/live`, { headers: { Cookie: cookie } })
  const [first, ...others] = await Promise.all(Array.from({ length: 6 }, open))
  const read = first!.text()
  const comeBack = async (answer: Response) => {
    for (let one: Response | null = answer; one; one = await open().catch(() => null)) await one.text()
  }
  const back = others.map(comeBack)
  const began = performance.now()
  await own.stop()
  await Promise.all([read, ...back])
  expect(performance.now() - began).toBeLessThan(8_000)
})
