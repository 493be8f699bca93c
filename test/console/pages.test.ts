// The pages of the console and their files: policy, caching, what answers while there are none.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type FakeConsole, fakeConsole } from '../harness/console.ts'
import { newOperator, visitor } from '../harness/operators.ts'
import { until } from '../harness/until.ts'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

let api: TestApi
let pages: FakeConsole
let browser: ReturnType<typeof visitor>
beforeAll(async () => {
  pages = await fakeConsole()
  api = await startApi({ console: pages })
  browser = visitor(api.url)
  await browser.signIn((await newOperator(api, { isOwner: true })).email)
})
afterAll(async () => {
  await api.stop()
  await pages.remove()
})

const SESSION = /<script type="application\/json" id="session">([^<]*)<\/script>/

const get = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers, redirect: 'manual' })

describe('a page', () => {
  test.each(['/console', '/console/', '/console/charts/mrr?range=28d', '/console/customers/a.js'])('%s is the shell', async path => {
    const { status, headers, text } = await browser.open(path)
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, 'text/html; charset=utf-8', 'no-store'])
    expect(text).toContain('<div id="root">')
    expect(Buffer.byteLength(text)).toBeLessThan(4_096)
    expect(headers.get('content-security-policy')).toBe(POLICY)
    expect(Object.fromEntries([...headers].filter(([name]) => /^cross-origin|^referrer|^x-content|^permissions/.test(name)))).toEqual({
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('camera=()'),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
  })

  test('loads what the page of its address needs, each once', async () => {
    const { text } = await browser.open('/console/charts/mrr')
    const linked = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, address]) => address)
    expect(linked.toSorted()).toEqual([
      '/console/assets/chart-CCCC3333.js',
      '/console/assets/chart-DDDD4444.css',
      '/console/assets/drawing-EEEE5555.js',
      '/console/assets/index-AAAA1111.js',
      '/console/assets/index-BBBB2222.css',
      '/console/scheme.js',
    ])
    expect((await browser.open('/console')).text).toContain('overview-FFFF6666.js')
    expect((await browser.open('/console/unknown')).text).not.toContain('modulepreload')
  })

  test('has the session of who opens it, as the pages would ask for it, and no name ends it', async () => {
    const name = '</script><script>alert("$&")</script>'
    await api.pool.query('update operators set name = $1', [name])
    const { text } = await browser.open('/console/charts')
    expect(text).not.toContain('<script>alert')
    const written = JSON.parse(SESSION.exec(text)![1]!)
    expect(written.operator.name).toBe(name)
    expect(written).toEqual({ ...JSON.parse((await browser.open('/console/api/session')).text), idle_until: expect.any(Number) })
  })

  test('sends a browser without a session to sign in, and back', async () => {
    const answer = await get('/console/charts/mrr?range=28d')
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      `/sign-in?next=${encodeURIComponent('/console/charts/mrr?range=28d')}`,
    ])
  })

  test('does not hide the pages that the service draws itself', async () => {
    const account = await browser.open('/console/account')
    expect(account.text).not.toContain('<div id="root">')
    expect(account.text).toContain('<a href="/console">To the console</a>')
    expect((await browser.open('/console/sign-in?next=/console/charts')).location).toBe('/sign-in?next=/console/charts')
    expect((await get('/console/join')).status).toBe(200)
  })

  test('is read only', async () => {
    expect((await browser.send('/console/charts', {})).status).toBe(404)
  })
})

test('a browser is sent from / to the console', async () => {
  expect((await get('/', { Accept: 'text/html' })).headers.get('location')).toBe('/console')
})

describe('a file', () => {
  test('with a hash is kept for a year, others are asked for again', async () => {
    const hashed = await get('/console/assets/index-BBBB2222.css')
    expect([hashed.status, hashed.headers.get('content-type')]).toEqual([200, 'text/css; charset=utf-8'])
    expect(hashed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(hashed.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await get('/console/scheme.js')).headers.get('cache-control')).toBe('no-cache')
    expect((await get('/console/assets/inter-GGGG7777.woff2')).headers.get('content-type')).toBe('font/woff2')
  })

  test('is not sent to who has it', async () => {
    const etag = (await get('/console/scheme.js', { 'Accept-Encoding': 'identity' })).headers.get('etag')!
    const conditional = { 'Accept-Encoding': 'identity', 'If-None-Match': etag, 'Cache-Control': 'max-age=0' }
    const again = await get('/console/scheme.js', conditional)
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('comes in brotli, under an ETag of its own', async () => {
    const path = '/console/assets/index-AAAA1111.js'
    const plain = await get(path, { 'Accept-Encoding': 'identity' })
    const text = await plain.text()
    const encoding = async () => (await get(path, { 'Accept-Encoding': 'br' })).headers.get('content-encoding') ?? undefined
    expect(await until('brotli', encoding)).toBe('br')
    const small = await get(path, { 'Accept-Encoding': 'gzip, br' })
    expect(small.headers.get('vary')).toContain('Accept-Encoding')
    expect(small.headers.get('etag')).not.toBe(plain.headers.get('etag'))
    expect(await small.text()).toBe(text)
    expect(Number(small.headers.get('content-length'))).toBeLessThan(text.length / 5)
  })

  test.each([
    '/console/assets/index-00000000.js',
    '/console/assets/',
    '/console/assets/..%2Fmanifest.json',
  ])('%s that is not there is 404, and never a page', async path => {
    const { status, headers } = await get(path)
    expect([status, headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
  })

  test('of the build that nobody loads is a page as any other', async () => {
    for (const name of ['manifest.json', 'stamp', 'index.html']) expect((await get(`/console/${name}`)).status).toBe(303)
  })
})

test('another build is served at once, and while there is none a page says so', async () => {
  const opened = async () => (await browser.open('/console')).text.replace(SESSION, '')
  const earlier = await opened()
  await pages.build({ 'index.html': '<head></head>anew', 'manifest.json': '{}' })
  expect(await opened()).toBe('<head></head>anew')
  await pages.remove()
  pages.become('building')
  const waiting = await browser.open('/console/charts')
  expect([waiting.status, waiting.headers.get('refresh'), waiting.headers.get('retry-after')]).toEqual([503, '2', '2'])
  expect(waiting.text).toContain('is being built')
  pages.become('missing')
  const missing = await browser.open('/console')
  expect([missing.status, missing.headers.get('refresh')]).toEqual([503, null])
  expect(missing.text).toContain('npm run build:console')
  expect((await get('/', { Accept: 'text/html' })).headers.get('location')).toBe('/docs')
  expect((await browser.open('/sign-in')).location).toBe('/console/account')
  await pages.build()
  pages.become('built')
  expect(await opened()).toBe(earlier)
})
