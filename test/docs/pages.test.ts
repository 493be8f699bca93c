// The documentation that the service serves: made of the files of docs/, complete, and with no link that leads nowhere.
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generatePages } from '../../web/generate.ts'
import { PAGES, REFERENCES } from '../../web/map.ts'
import { startApi, type TestApi } from '../harness/api.ts'

const ROOT = new URL('../../', import.meta.url)
const GUIDES = ['/docs', ...PAGES.map(({ name }) => `/docs/${name}`)]
const ADDRESSES = [...GUIDES, ...REFERENCES.map(({ path }) => path)]

let api: TestApi
const pages = new Map<string, string>()
const get = (path: string, headers: Record<string, string> = {}) => fetch(api.url + path, { headers, redirect: 'manual' })
beforeAll(async () => {
  api = await startApi()
  for (const path of ADDRESSES) pages.set(path, await (await get(path)).text())
})
afterAll(() => api.stop())

test('is made of docs/ as they are now', async () => {
  const { analytics, files } = await generatePages()
  const stale = [...files].filter(([name, text]) => readFileSync(new URL(`web/generated/${name}`, ROOT), 'utf8') !== text)
  expect(
    stale.map(([name]) => name),
    'npm run generate',
  ).toEqual([])
  expect(readFileSync(new URL('docs/analytics.md', ROOT), 'utf8') === analytics, 'npm run generate').toBe(true)
  const made = readdirSync(new URL('web/generated', ROOT), { recursive: true, encoding: 'utf8' }).filter(name => name.includes('.'))
  expect(made.sort()).toEqual([...files.keys()].sort())
})

describe('each page', () => {
  test.each(ADDRESSES)('%s is served without a key and loads nothing from elsewhere', async path => {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'/)
    expect(answer.headers.get('content-security-policy')).not.toContain('unsafe')
    const loaded = [...pages.get(path)!.matchAll(/<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"/g)].map(([, address]) => address!)
    expect(loaded.length).toBeGreaterThan(3)
    for (const address of loaded) expect([address, (await get(address)).status]).toEqual([address, 200])
    // The policy would refuse them.
    expect(pages.get(path)).not.toMatch(/<style|<script>| style="| on\w+="/)
  })

  test.each(GUIDES)('%s has anchors that are unique, and links that lead somewhere', path => {
    const idsOf = (text: string) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id!)
    const text = pages.get(path)!
    expect(new Set(idsOf(text)).size).toBe(idsOf(text).length)
    const gone = [...text.matchAll(/<a [^>]*href="([^"]+)"/g)]
      .map(([, href]) => href!)
      .filter(href => !/^https:/.test(href))
      .filter(href => {
        const [to, anchor] = href.split('#')
        const target = to === '' ? text : pages.get(to!)
        return target === undefined || (anchor !== undefined && !idsOf(target).includes(decodeURIComponent(anchor)))
      })
    expect(gone).toEqual([])
  })

  test.each(GUIDES)('%s has no Markdown left', path => {
    const prose = pages.get(path)!.replaceAll(/<pre[\s\S]*?<\/pre>|<code>[\s\S]*?<\/code>/g, '')
    expect(prose).not.toMatch(/\*\*|`|\]\(|\|---|^#|^- /m)
  })
})

test('the search knows words on both sides of the end of a line, and no marks', async () => {
  const index = await (await get('/docs/assets/search.json')).text()
  expect(index).toContain('true while subscriptions')
  expect(index).not.toContain('<a id=')
})

describe('an address', () => {
  test('of a page that somebody has already costs a 304', async () => {
    const etag = (await get('/docs/stores')).headers.get('etag')!
    // `fetch` adds `Cache-Control: no-cache` to such a request unless there is one.
    const again = await get('/docs/stores', { 'if-none-match': etag, 'cache-control': 'max-age=0' })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('of the service leads a browser to the documentation, and tells a program what it tells for others', async () => {
    const browser = await get('/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/docs'])
    expect([(await get('/')).status, (await get('/', { accept: 'application/json' })).status]).toEqual([404, 404])
  })

  test('that was once the reference of v3 leads there', async () => {
    const old = await get('/docs/v3')
    expect([old.status, old.headers.get('location')]).toEqual([301, '/docs/api/v3'])
  })

  test('that is none is refused, also beside the files', async () => {
    const { hostname, port } = new URL(api.url)
    // Not `fetch`, which resolves such paths itself.
    const statusOf = (path: string) =>
      new Promise<number | undefined>((resolve, reject) =>
        request({ hostname, port, path }, answer => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end(),
      )
    for (const path of [
      '/docs/none',
      '/docs/assets/../../package.json',
      '/docs/assets/%2e%2e/map.ts',
      '/docs/assets/..%2fmap.ts',
      '/docs/generated/index.html',
    ])
      expect([path, await statusOf(path)]).toEqual([path, 404])
  })

  test('of the reference’s program comes compressed to whoever takes it', async () => {
    const [zipped, plain] = [
      await get('/docs/assets/scalar.js', { 'accept-encoding': 'gzip' }),
      await get('/docs/assets/scalar.js', { 'accept-encoding': 'identity' }),
    ]
    expect([zipped.headers.get('content-encoding'), plain.headers.get('content-encoding')]).toEqual(['gzip', null])
    expect(await zipped.text()).toBe(await plain.text())
    expect(zipped.headers.get('etag')).not.toBe(plain.headers.get('etag'))
  })
})
