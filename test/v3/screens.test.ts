// Screens as apps show them, and their import.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { screens } from '../../cli/screens/command.ts'
import { call, temporaryFolder } from '../cli/call.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

async function importing(file: unknown, ...options: string[]) {
  const path = join(await temporaryFolder(), 'screens.json')
  await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file))
  return call(screens, ['import', path, ...options], { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ops' })
}
const imported = async (...list: object[]) => {
  const result = await importing(list, '--project', String(api.project.id))
  expect(result).toMatchObject({ code: 0, notes: '' })
  return result.out
}
const missing = () => [404, v3Error(api, 'resource', 'not_found', 'Screen not found')]
const EMPTY = '<!DOCTYPE html><html><head></head><body></body></html>'

describe('what an app gets', () => {
  test('a published screen, with the variables that have the right shape', async () => {
    const id = unique('scr')
    const good = [
      { kind: 'custom', key: 'title', type: 'string', value: 'Hi' },
      { kind: 'product', key: 'p', type: 'number', value: 1.5 },
      { kind: 'selected_product', key: '', type: 'boolean', value: false },
    ]
    const bad = [
      null,
      7,
      'x',
      [],
      { kind: 'other', key: 'k', type: 'string', value: '' },
      { kind: 'custom', type: 'string', value: '' },
      { kind: 'custom', key: 'k', type: 'date', value: '' },
      { kind: 'custom', key: 'k', type: 'string', value: null },
      { kind: 'custom', key: 'k', type: 'string', value: {} },
    ]
    const content = { html: '<p>ü</p>', variables: [...bad, { ...good[0], extra: 1 }, good[1], good[2]] }
    await imported({ id, name: 'One', status: 'published', context_key: 'one', content })
    const shown = { id, context_key: 'one', body: '<p>ü</p>', variables: good }
    const answer = await v3('GET', `/v3/screens/${id}`)
    expect([answer.status, answer.body]).toEqual([200, shown])
    expect((await v3('GET', '/v3/contexts/one/screens')).body).toEqual([shown])
  })

  test('without key, html and variables: an empty text, an empty document, an empty list', async () => {
    for (const content of [{}, { html: 7, variables: {} }, { html: '', variables: null }]) {
      const id = unique('scr')
      await imported({ id, name: 'Bare', status: 'published', content })
      expect((await v3('GET', `/v3/screens/${id}`)).body).toEqual({ id, context_key: '', body: EMPTY, variables: [] })
    }
  })

  test('drafts, unknown and empty ids are not found; neither is what is in the other environment', async () => {
    const [draft, live] = [unique('scr'), unique('scr')]
    await imported({ id: draft, name: 'Draft', context_key: 'draft' }, { id: live, name: 'Live', status: 'published', context_key: 'live' })
    const paths = ['/v3/screens/', '/v3/screens/none', `/v3/screens/${draft}`, '/v3/contexts//screens', '/v3/contexts/none/screens']
    for (const path of [...paths, '/v3/contexts/draft/screens']) {
      const answer = await v3('GET', path)
      expect([path, answer.status, answer.body]).toEqual([path, ...missing()])
    }
    const sandbox = { key: `test_${api.project.projectKey}` }
    for (const path of [`/v3/screens/${live}`, '/v3/contexts/live/screens']) expect((await v3('GET', path, sandbox)).status).toBe(404)
    expect((await v3('GET', '/v3/screens', sandbox)).body).toEqual([])
  })

  test('of a context the one that was published last, by whichever way', async () => {
    const key = unique('context key ')
    const path = `/v3/contexts/${encodeURIComponent(key)}/screens`
    const shown = async () => (await v3('GET', path)).body.map(({ id }: { id: string }) => id)
    const [a, b, c] = [unique('scr'), unique('scr'), unique('scr')]
    await imported(...[a, b].map(id => ({ id, name: id, status: 'published', context_key: key })), { id: c, name: c, context_key: key })
    expect(await shown()).toEqual([b])
    expect((await api.call('POST', `/v4/screens/${c}/publish`)).status).toBe(200)
    expect(await shown()).toEqual([c])
    // A new name publishes nothing.
    expect((await api.call('PUT', `/v4/screens/${a}`, { body: { name: 'New' } })).status).toBe(200)
    expect(await shown()).toEqual([c])
    expect((await api.call('DELETE', `/v4/screens/${c}`)).status).toBe(204)
    expect(await shown()).toEqual([b])
  })

  test('the list has all published screens with a context key, oldest first', async () => {
    const project = await api.newProject()
    const ids = [unique('scr'), unique('scr'), unique('scr'), unique('scr')]
    const file = [
      { id: ids[2], name: 'a', status: 'published', context_key: 'x' },
      { id: ids[0], name: 'b', status: 'published', context_key: 'x' },
      { id: ids[1], name: 'c', status: 'published' },
      { id: ids[3], name: 'd', context_key: 'x' },
    ]
    expect((await importing(file, '--project', String(project.id))).code).toBe(0)
    await api.pool.query(`update screens set created_at = created_at - interval '1 day' where id = $1`, [ids[0]])
    for (const query of ['', '?preload=true', '?preload=false&unknown=1']) {
      const { body } = await v3('GET', `/v3/screens${query}`, { key: project.projectKey })
      expect(body.map(({ id }: { id: string }) => id)).toEqual([ids[0], ids[2]])
    }
    expect((await v3('GET', '/v3/screens?preload=maybe', { key: project.projectKey })).status).toBe(400)
    expect((await v3('GET', `/v3/screens/${ids[0]}`)).status).toBe(404)
  })
})

describe('screens import', () => {
  test('is all that v4 shows of a screen, and does nothing the second time', async () => {
    const id = unique('scr')
    const screen = {
      object: 'screen',
      url: `/v4/screens/${id}`,
      id,
      name: 'Pay',
      status: 'published',
      type: 'paywall',
      is_web: false,
      context_key: 'pay',
      background: '#000',
      default_lang: 'de',
      configs: { a: [1] },
      content: { html: '<p>', variables: [] },
      used: ['monthly'],
      created_at: '2020-01-01T00:00:00Z',
      prod_key: 'ignored',
    }
    expect(await imported(screen)).toMatch(/: 1 screens created, 0 changed, 0 there already\.$/)
    expect(await imported(screen)).toMatch(/: 0 screens created, 0 changed, 1 there already\.$/)
    const list = { object: 'list', url: '/v4/screens', data: [screen], has_more: false }
    const result = await importing(list, '--project', String(api.project.id))
    expect(result).toMatchObject({ code: 0, out: expect.stringMatching(/: 0 screens created, 0 changed, 1 there already\.$/) })
    const { object, url, created_at, prod_key, ...shown } = screen
    expect((await api.call('GET', `/v4/screens/${id}`)).body).toMatchObject(shown)
    const before = (await api.pool.query('select published_at from screens where id = $1', [id])).rows
    expect(await imported({ ...screen, content: { html: '<b>' } })).toMatch(/: 0 screens created, 1 changed, 0 there already\.$/)
    expect((await v3('GET', `/v3/screens/${id}`)).body.body).toBe('<b>')
    expect((await api.pool.query('select published_at from screens where id = $1', [id])).rows).toEqual(before)
    const { rows } = await api.pool.query(`select actor_kind, actor_id, operation from audit_log where resource_id = $1`, [id])
    expect(rows).toEqual(Array(2).fill({ actor_kind: 'cli', actor_id: 'ops', operation: 'screens import' }))
  })

  test.each([
    ['{', /^the file is no JSON: /],
    ['[]', /^the file has no screen$/m],
    [{ object: 'list', data: [] }, /^the file has no screen$/m],
    [{ object: 'list', data: [{ id: 'ok', name: 'x' }, 7] }, /^data\[1\] must be an object, not a number$/m],
    [{ object: 'list', data: [{ id: 'ok' }] }, /^data\[0\] \(ok\)\.name is required$/m],
    ['7', /^screen must be an object, not a number$/m],
    [{ name: 'x' }, /^screen\.id is required$/m],
    [{ id: 'a b', name: 'x' }, /^screen\.id must be 1 to 64 letters/m],
    [[{ id: 'ok', name: 'x' }, { id: 'x' }], /^\[1\] \(x\)\.name is required$/m],
    [[{ id: 'ok', name: 'x', status: 'live' }], /^\[0\] \(ok\)\.status must be draft or published$/m],
    [[{ id: 'ok', name: 'x', content: [] }], /^\[0\] \(ok\)\.content must be an object$/m],
    [[{ id: 'ok', name: 'a\u0000' }], /^\[0\] \(ok\)\.name must hold no NUL/m],
    [
      [
        { id: 'ok', name: 'x' },
        { id: 'ok', name: 'y' },
      ],
      /^\[1\] \(ok\)\.id is that of \[0\] \(ok\)$/m,
    ],
  ])('%j is refused as a whole', async (file, says) => {
    const result = await importing(file)
    expect(result).toMatchObject({ code: 2, out: '' })
    expect(result.notes).toMatch(says)
    expect(result.notes).toMatch(/No screen was imported\.$/)
    expect((await api.pool.query(`select 1 from screens where id = 'ok'`)).rowCount).toBe(0)
  })

  test('a wrong call says what is missing', async () => {
    const env = { DATABASE_URL: api.databaseUrl, APP_SECRET }
    expect((await call(screens, [], env)).notes).toMatch(/which command\? screens import/)
    expect((await call(screens, ['import', '/nowhere.json'], env)).notes).toMatch(/nowhere\.json: ENOENT/)
    expect((await importing({ id: 'x', name: 'x' }, '--project', '9999')).notes).toBe('project 9999 not found')
    await api.newProject()
    expect((await importing({ id: 'x', name: 'x' })).notes).toMatch(/name it with --project/)
    expect((await importing({ id: unique('scr'), name: 'x' }, '--project', String(api.project.id), '--sandbox')).code).toBe(0)
  })
})
