// Whom experiments and remote configurations reach, what groups serve, and which experiments use a configuration.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

const read = async (path: string, key?: string) => {
  const answer = await api.call('GET', path, { ...(key !== undefined && { key }) })
  expect(answer.status, answer.text).toBe(200)
  return answer
}
/** All rows of a list, two a page. */
async function paged(path: string) {
  const rows = []
  for (let after: string | undefined; ; ) {
    const { body } = await read(`${path}${path.includes('?') ? '&' : '?'}limit=2${after === undefined ? '' : `&starting_after=${after}`}`)
    rows.push(...body.data)
    if (!body.has_more) return rows
    after = body.next_cursor
  }
}
const keyWith = async (...scopes: string[]): Promise<string> =>
  (await api.call('POST', '/v4/api-keys', { body: { name: 'Reads', scopes } })).body.key

describe('the users of an experiment', () => {
  test('are listed with their groups, the latest first, also by group and attached ones alone', async () => {
    const { id, groups } = await make.running({ context_key: 'people' }, [{}, { weight: 0 }])
    const taken: string[] = []
    for (let n = 0; n < 4; n++) {
      const user = await make.user()
      await make.evaluate(user, { context_keys: ['people'] })
      taken.push(user)
    }
    const attached = await make.user()
    await make.call('POST', `/v4/experiments/${id}/users/${attached}`, { group_id: groups[1] })
    // Several at one moment: the order of a page goes on after the last of them.
    await api.pool.query("update experiment_assignments set assigned_at = '2026-01-01' where user_id = any ($1)", [taken.slice(0, 3)])
    const url = `/v4/experiments/${id}/users`
    const all = await paged(url)
    const old = [...taken.slice(0, 3)].sort().reverse()
    expect(all.map(({ id: user }) => user)).toEqual([attached, taken[3], ...old])
    expect(all[0]).toEqual({ object: 'experiment_user', id: attached, group_id: groups[1], pinned: true, assigned_at: expect.any(String) })
    expect(all[1]).toMatchObject({ group_id: groups[0], pinned: false })
    expect((await paged(`${url}?pinned=true`)).map(row => row.id)).toEqual([attached])
    expect((await paged(`${url}?filter[group_id]=${groups[0]}`)).map(row => row.id)).toEqual([taken[3], ...old])
    expect((await paged(`${url}?filter[group_id]=${groups[0]}&pinned=true`)).map(row => row.id)).toEqual([])
    const restarted = await read(`${url}?starting_after=nobody`)
    expect([restarted.body.data.length, restarted.headers.get('x-qon-pagination-restarted')]).toEqual([5, 'true'])
    const other = await make.running({ context_key: 'people-elsewhere' })
    expect((await read(`/v4/experiments/${other.id}/users?filter[group_id]=${groups[0]}`)).body.data).toEqual([])
    expect((await api.call('GET', '/v4/experiments/exp_none/users')).status).toBe(404)
    expect((await api.call('GET', url, { key: api.project.sandbox })).status).toBe(404)
  })
})

describe('the users of a remote configuration', () => {
  test('are those attached to it, the latest first', async () => {
    const config = await make.configuration({}, { context_key: 'pins' })
    const url = `/v4/remote-configurations/${config}/users`
    expect((await read(url)).body).toEqual({ object: 'list', url, data: [], has_more: false })
    const users = [await make.user(), await make.user(), await make.user()]
    for (const user of users) await make.call('POST', `/v4/remote-configurations/${config}/users/${user}`)
    expect(await paged(url)).toEqual(
      [...users].reverse().map(id => ({ object: 'remote_config_user', id, pinned_at: expect.stringMatching(/Z$/) })),
    )
    const restarted = await read(`${url}?starting_after=nobody`)
    expect([restarted.body.data.length, restarted.headers.get('x-qon-pagination-restarted')]).toEqual([3, 'true'])
    await make.call('DELETE', `/v4/remote-configurations/${config}/users/${users[2]}`)
    expect((await paged(url)).map(row => row.id)).toEqual([users[1], users[0]])
    expect((await api.call('GET', '/v4/remote-configurations/none/users')).status).toBe(404)
    expect((await api.call('GET', url, { key: api.project.sandbox })).status).toBe(404)
  })
})

describe('what serves what', () => {
  test('a configuration names the experiments that use it, running ones first, each once', async () => {
    const config = await make.configuration({ title: 'A' })
    const serving = { remote_config_uid: config }
    const running = await make.running({ name: 'Runs', context_key: 'uses' }, [{ ...serving, name: 'Blue' }, serving])
    const draft = await make.running({ name: 'Draft', context_key: 'uses' }, [serving, {}], 'draft')
    const part = (id: string | undefined, name: string | null = null) => ({ id, name })
    const used_by = [
      {
        ...{ object: 'experiment', id: running.id, name: 'Runs', status: 'active' },
        parts: [part(running.groups[0], 'Blue'), part(running.groups[1])],
        prevents_deletion: true,
      },
      {
        ...{ object: 'experiment', id: draft.id, name: 'Draft', status: 'draft' },
        parts: [part(draft.groups[0])],
        prevents_deletion: false,
      },
    ]
    expect((await read(`/v4/remote-configurations/${config}`)).body).toMatchObject({ used_by, used_by_has_more: false })
    expect((await api.call('DELETE', `/v4/remote-configurations/${config}`)).body.error.message).toContain(running.id)
    const listed = (await read('/v4/remote-configurations')).body.data.find((row: { id: string }) => row.id === config)
    expect(listed).toMatchObject({ used_by, used_by_has_more: false })
    const narrow = await keyWith('remote_configurations:read')
    const unnamed = (await read(`/v4/remote-configurations/${config}`, narrow)).body.used_by
    expect(unnamed).toEqual(used_by.map(use => ({ ...use, name: null, parts: [] })))
    // 49 more drafts, as one statement.
    await api.pool.query(
      `with e as (
         insert into experiments (environment, id, name, alias_id, status, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
         select $1, 'exp_more' || n, 'More', 'more' || n, 'draft', 'uses', true, '[]', now(), now() from generate_series(1, 49) n returning environment, id)
       insert into experiment_groups (environment, id, experiment_id, is_control, weight, remote_config_uid, created_at, updated_at)
       select environment, 'group-' || id, id, true, 1, $2, now(), now() from e`,
      [api.project.production, config],
    )
    const many = (await read(`/v4/remote-configurations/${config}`)).body
    expect([many.used_by.length, many.used_by_has_more, many.used_by[0].id]).toEqual([50, true, running.id])
  })

  test('a group has its share, the name of its configuration and the products of its copy of an offering', async () => {
    for (const product of ['p1', 'p2'])
      await api.call('POST', '/v4/products', { body: { id: product, type: 'subscription', duration: 'P1M', apple_product_id: product } })
    const { status, text } = await api.call('POST', '/v4/offerings', { body: { id: 'sale', tag: 0, product_ids: ['p2', 'p1'] } })
    expect(status, text).toBe(201)
    const config = await make.configuration({ title: 'A' }, { name: 'Spring' })
    const { id } = await make.experiment()
    const url = `/v4/experiments/${id}/groups`
    await make.group(id, { weight: 0, is_control: true })
    expect((await read(url)).body.data[0]).toMatchObject({ share: null, remote_config_name: null, offering_product_ids: null })
    await make.group(id, { weight: 1, remote_config_uid: config, offering_uid: 'sale' })
    await make.group(id, { weight: 2 })
    const groups = (await read(url)).body.data
    expect(groups.map((group: { share: number }) => group.share)).toEqual([0, 33.3333, 66.6667])
    expect(groups[1]).toMatchObject({ remote_config_name: 'Spring', offering_product_ids: ['p2', 'p1'] })
    expect((await read(url, await keyWith('experiments:read'))).body.data[1].remote_config_name).toBeNull()
  })
})
