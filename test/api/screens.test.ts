import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { withoutUses } from '../harness/catalogue.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Options = { key?: string; headers?: Record<string, string> }
const create = async (name: string, options: Options = {}) => (await api.call('POST', '/v4/screens', { ...options, body: { name } })).body
const rename = (id: string, name: unknown, options: Options = {}) => api.call('PUT', `/v4/screens/${id}`, { ...options, body: { name } })
const publish = (id: string, options: Options = {}) => api.call('POST', `/v4/screens/${id}/publish`, options)
const copy = (id: string, options: Options = {}) => api.call('POST', `/v4/screens/${id}/copy`, options)
const entriesOf = async (id: string) => (await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)).body.data
/** A designed screen, last changed long ago. The API does not write layouts, so the test does. */
const design = (id: string) =>
  api.pool.query(
    `update screens set type = 'web_flow', context_key = 'onboarding', background = '#000', default_lang = 'de', used = '{b,a}',
       configs = '{"z":1,"a":{"deep":[null]}}', content = '{"html":"<p>ä</p>"}', created_at = '2026-01-01', updated_at = '2026-01-01' where id = $1`,
    [id],
  )

describe('a screen', () => {
  test('is created as an empty draft that can be read with and without its layout', async () => {
    const answer = await api.call('POST', '/v4/screens', { body: { name: 'Paywall 😀' } })
    const { id } = answer.body
    expect(id).toMatch(/^scr_[0-9a-z]{20}$/)
    expect([answer.status, answer.headers.get('location')]).toEqual([201, `/v4/screens/${id}`])
    const uses = { used_by: [], used_by_has_more: false }
    const summary = {
      object: 'screen',
      id,
      url: `/v4/screens/${id}`,
      name: 'Paywall 😀',
      status: 'draft',
      is_web: false,
      type: null,
      context_key: null,
      created_at: expect.any(String),
      updated_at: answer.body.created_at,
    }
    expect(answer.body).toEqual({
      ...summary,
      background: '#FFFFFF',
      default_lang: 'en',
      configs: {},
      content: {},
      prod_key: api.project.projectKey,
      sandbox_key: `test_${api.project.projectKey}`,
      used: [],
      ...uses,
    })
    const read = { ...answer.body, in_context: null }
    expect((await api.call('GET', answer.body.url)).body).toEqual(read)
    expect((await api.call('GET', `${answer.body.url}?render=true`)).body).toEqual(read)
    expect((await api.call('GET', `${answer.body.url}?render=false`)).body).toEqual({ ...summary, ...uses })
    expect((await api.call('GET', `${answer.body.url}?render=`)).body.error.details[0].field).toBe('render')
  })

  test('is renamed without another change; the same name keeps updated_at', async () => {
    const { id } = await create('Old')
    await design(id)
    await publish(id)
    await api.pool.query(`update screens set updated_at = '2026-01-01' where id = $1`, [id])
    const same = await rename(id, 'Old')
    expect([same.status, same.body.updated_at]).toEqual([200, '2026-01-01T00:00:00Z'])
    const renamed = await rename(id, 'New')
    expect(renamed.body).toEqual({ ...same.body, name: 'New', updated_at: expect.not.stringMatching('2026-01-01') })
    expect(renamed.body).toMatchObject({ status: 'published', is_web: true, type: 'web_flow', created_at: '2026-01-01T00:00:00Z' })
    expect(renamed.body).toMatchObject({ configs: { z: 1, a: { deep: [null] } }, content: { html: '<p>ä</p>' }, used: ['b', 'a'] })
    const entries = await entriesOf(id)
    expect(entries.map((entry: { operation: string }) => entry.operation)).toEqual(['v4UpdateScreen', 'v4PublishScreen', 'v4CreateScreen'])
    expect(entries[0]).toMatchObject({ resource: 'screen', before: { name: 'Old' }, after: { name: 'New', status: 'published' } })
    expect(JSON.stringify(entries)).not.toContain(api.project.projectKey)
  })

  test.each([
    ['a', undefined],
    ['b', ''],
    ['c', null],
    ['d', 'x'.repeat(257)],
  ])('%s: the name %j is refused', async (_case, name) => {
    const { id } = await create('Kept')
    for (const answer of [await api.call('POST', '/v4/screens', { body: { name } }), await rename(id, name)])
      expect([answer.status, answer.body.error.details[0].field]).toEqual([400, 'name'])
  })

  test('is published once; a repeat has no effect', async () => {
    const { id } = await create('Empty')
    await api.pool.query(`update screens set updated_at = '2026-01-01' where id = $1`, [id])
    const first = await publish(id)
    expect(first.status).toBe(200)
    expect(first.body.status).toBe('published')
    expect(first.body.updated_at).not.toBe('2026-01-01T00:00:00Z')
    await api.pool.query(`update screens set updated_at = '2026-01-01' where id = $1`, [id])
    const second = await publish(id)
    expect([second.status, second.body]).toEqual([200, { ...first.body, updated_at: '2026-01-01T00:00:00Z' }])
    expect(await entriesOf(id)).toMatchObject([
      { operation: 'v4PublishScreen', before: { status: 'draft' }, after: { status: 'published' } },
      { operation: 'v4CreateScreen', before: null },
    ])
  })

  test('says which screen is shown for its context: the one that was published last', async () => {
    const { secret: key } = await api.newProject()
    const [first, second] = [await create('First', { key }), await create('Second', { key })]
    for (const { id } of [first, second]) await design(id)
    const shown = async ({ url }: { url: string }) => (await api.call('GET', url, { key })).body.in_context
    expect(await shown(first)).toBeNull()
    await publish(first.id, { key })
    expect(await shown(second)).toEqual({ id: first.id, name: 'First' })
    await publish(second.id, { key })
    expect([await shown(first), await shown(second)]).toEqual(Array(2).fill({ id: second.id, name: 'Second' }))
  })

  test('is published once by 50 concurrent requests', async () => {
    const { id } = await create('Wanted')
    const answers = await Promise.all(Array.from({ length: 50 }, () => publish(id)))
    expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([200]))
    expect(await entriesOf(id)).toHaveLength(2)
  })

  test('is gone after its deletion, and the entry has its former state', async () => {
    const { id } = await create('Gone')
    await design(id)
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.call('DELETE', `/v4/screens/${id}`)))
    expect(answers.map(answer => answer.status).sort()).toEqual([204, ...Array.from({ length: 9 }, () => 404)])
    for (const answer of [await api.call('GET', `/v4/screens/${id}`), await rename(id, 'x'), await publish(id), await copy(id)])
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
    const [entry] = await entriesOf(id)
    expect(entry).toMatchObject({ operation: 'v4DeleteScreen', before: { name: 'Gone', content: { html: '<p>ä</p>' } }, after: null })
    expect(entry.before).not.toHaveProperty('prod_key')
  })

  test('of the sandbox or another project is not found', async () => {
    const { id } = await create('Mine')
    const other = await api.newProject()
    for (const key of [api.project.sandbox, other.secret]) {
      const requested = [
        await api.call('GET', `/v4/screens/${id}`, { key }),
        await api.call('GET', `/v4/screens/${id}?render=false`, { key }),
        await api.call('DELETE', `/v4/screens/${id}`, { key }),
        await rename(id, 'Theirs', { key }),
        await publish(id, { key }),
        await copy(id, { key }),
      ]
      expect(requested.map(answer => answer.status)).toEqual(requested.map(() => 404))
      expect((await api.call('GET', '/v4/screens', { key })).body.data).toEqual([])
    }
    expect((await create('Sand', { key: api.project.sandbox })).prod_key).toBe(api.project.projectKey)
  })
})

describe('a copy', () => {
  test('has the layout and type of its source, not status and context key', async () => {
    const { id } = await create('Original')
    await design(id)
    await publish(id)
    const { status, headers, body } = await copy(id)
    expect([status, headers.get('location')]).toEqual([201, body.url])
    expect(body).toMatchObject({ name: 'Original (copy)', status: 'draft', type: 'web_flow', is_web: true, context_key: null })
    expect(body).not.toHaveProperty('content')
    expect(body.id).not.toBe(id)
    expect(body.created_at).not.toBe('2026-01-01T00:00:00Z')
    const [original, made] = [(await api.call('GET', `/v4/screens/${id}`)).body, (await api.call('GET', body.url)).body]
    const { background, default_lang, configs, content, used } = original
    expect(made).toEqual({
      ...body,
      in_context: null,
      background,
      default_lang,
      configs,
      content,
      used,
      prod_key: original.prod_key,
      sandbox_key: original.sandbox_key,
    })
    expect(await entriesOf(body.id)).toMatchObject([{ operation: 'v4CopyScreen', before: null, after: withoutUses(body) }])
  })

  test('has a name of at most 256 characters, of any number of bytes', async () => {
    const { id } = await create('😀'.repeat(256))
    expect((await copy(id)).body.name).toBe(`${'😀'.repeat(249)} (copy)`)
  })

  test('is created once per Idempotency-Key', async () => {
    const { id } = await create('Once')
    const headers = { 'Idempotency-Key': 'copy-1' }
    const [first, second] = [await copy(id, { headers }), await copy(id, { headers })]
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
  })
})

test('the list has summaries, newest first, and continues after a cursor', async () => {
  const { secret: key } = await api.newProject()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift((await create(`s${n}`, { key })).id)
  // Screens of one instant are ordered by id, largest first.
  await api.pool.query(`update screens set created_at = '2026-01-01' where id = any($1)`, [ids.slice(1, 4)])
  await api.pool.query(`update screens set created_at = '2025-01-01' where id = $1`, [ids[4]])
  const first = await api.call('GET', '/v4/screens?limit=2', { key })
  expect(first.body).toMatchObject({ object: 'list', url: '/v4/screens', has_more: true, next_cursor: ids[1] })
  expect(first.body.data[0]).toEqual(withoutUses((await api.call('GET', `/v4/screens/${ids[0]}?render=false`, { key })).body))
  const rest = await api.call('GET', `/v4/screens?starting_after=${ids[1]}`, { key })
  expect([...first.body.data, ...rest.body.data].map(screen => screen.id)).toEqual(ids)
  expect([rest.body.has_more, 'next_cursor' in rest.body]).toEqual([false, false])
  const restarted = await api.call('GET', '/v4/screens?limit=1&starting_after=scr_gone', { key })
  expect([restarted.headers.get('x-qon-pagination-restarted'), restarted.body.data[0].id]).toEqual(['true', ids[0]])
})
