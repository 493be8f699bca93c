// The life of a grant and of its tokens.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assertGranted, createGrant, endGrant, findGrant, listGrants } from '../../domain/operators/grants/grant.ts'
import { grantOfToken, rotateTokens } from '../../domain/operators/grants/tokens.ts'
import { dropOldGrants } from '../../domain/operators/mcp-calls/retention.ts'
import { hashKey } from '../../domain/projects/secrets.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type GrantOptions, newGrant, operatorIn } from '../harness/grants.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const grant = (options: GrantOptions = {}) => newGrant(api, api.project, { scopes: ['events:read', 'products:write'], ...options })
const find = async (token: string) => (await findGrant(api.pool, hashKey(token)))?.owner ?? null
const rotate = (token: string, scopes?: string[], client = 'client') => transaction(api.pool, tx => rotateTokens(tx, token, client, scopes))
const used = (id: string, seconds: number) =>
  api.pool.query('update mcp_tokens set used_at = used_at - make_interval(secs => $2) where grant_id = $1', [id, seconds])
async function pairOf(token: string, scopes?: string[]) {
  const refreshed = await rotate(token, scopes)
  if (refreshed.is !== 'refreshed') throw new Error(refreshed.is)
  return refreshed.pair
}

test('an access token names the grant, the operator and what the role covers; nothing is stored in clear', async () => {
  const { id, token, refreshToken, operator } = await grant()
  expect(token).toMatch(/^pna_[A-Za-z0-9_-]{43}$/)
  expect(await find(token)).toMatchObject({
    kind: 'grant',
    keyId: id,
    operator,
    project: api.project.id,
    environment: api.project.production,
    environmentKind: 'production',
    scopes: new Set(['events:read', 'products:write']),
  })
  expect(await find(refreshToken)).toBe(null)
  const { rows } = await api.pool.query('select mcp_tokens::text as row from mcp_tokens where grant_id = $1', [id])
  for (const { row } of rows) for (const one of [token, refreshToken]) expect(row).not.toContain(one)
})

test('an owner of the installation is an admin everywhere, and a viewer writes nothing', async () => {
  const owner = await operatorIn(api, api.project, null)
  await api.pool.query('update operators set is_owner = true where id = $1', [owner])
  expect((await find((await grant({ operator: owner })).token))!.scopes).toEqual(new Set(['events:read', 'products:write']))
  expect((await find((await grant({ role: 'viewer' })).token))!.scopes).toEqual(new Set(['events:read']))
})

test('a grant is for an environment of its project', async () => {
  const [operator, other] = [await operatorIn(api, api.project), await api.newProject()]
  const foreign = {
    operator,
    clientId: 'c',
    clientName: 'C',
    project: api.project.id,
    environment: other.production,
    scopes: ['events:read'],
    findsTools: false,
  }
  await expect(transaction(api.pool, tx => createGrant(tx, foreign))).rejects.toThrow('not found')
})

describe('a refresh token', () => {
  test('gives another pair, and access tokens go on until they expire', async () => {
    const { token, refreshToken } = await grant()
    const pair = await pairOf(refreshToken)
    expect(pair.scopes).toEqual(['events:read', 'products:write'])
    for (const one of [token, pair.accessToken]) expect(await find(one)).not.toBe(null)
    expect((await pairOf(pair.refreshToken)).scopes).toEqual(pair.scopes)
  })

  test('gives fewer scopes to one access token, and never more than the grant has', async () => {
    const { refreshToken } = await grant()
    const fewer = await pairOf(refreshToken, ['events:read'])
    expect((await find(fewer.accessToken))!.scopes).toEqual(new Set(['events:read']))
    expect(await rotate(fewer.refreshToken, ['events:read', 'users:read'])).toEqual({ is: 'scope' })
    expect((await pairOf(fewer.refreshToken)).scopes).toEqual(['events:read', 'products:write'])
  })

  test('that is used again within 30 s gives another pair, later it ends the grant', async () => {
    const { id, token, refreshToken } = await grant()
    const first = await pairOf(refreshToken)
    const second = await pairOf(refreshToken)
    expect(second.accessToken).not.toBe(first.accessToken)
    await used(id, 31)
    expect(await rotate(refreshToken)).toMatchObject({ is: 'reused', ended: { id } })
    for (const one of [token, first.accessToken, second.accessToken]) expect(await find(one)).toBe(null)
    expect(await rotate(first.refreshToken)).toEqual({ is: 'invalid' })
  })

  test('is refused for another client, after its time, and when it is an access token', async () => {
    const { id, token, refreshToken } = await grant()
    expect(await rotate(refreshToken, undefined, 'other')).toEqual({ is: 'invalid' })
    expect(await rotate(token)).toEqual({ is: 'invalid' })
    await api.pool.query('update mcp_tokens set expires_at = clock_timestamp() where grant_id = $1', [id])
    expect(await rotate(refreshToken)).toEqual({ is: 'invalid' })
  })

  test('is refused when the account of the operator is closed', async () => {
    const { refreshToken, operator } = await grant()
    await api.pool.query('update operators set closed_at = clock_timestamp() where id = $1', [operator])
    expect(await rotate(refreshToken)).toEqual({ is: 'invalid' })
  })

  test('that many use late at the same time ends the grant, and none gets a pair', async () => {
    const { id, refreshToken } = await grant()
    await pairOf(refreshToken)
    await used(id, 31)
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => rotate(refreshToken)))
    expect(outcomes.filter(({ is }) => is === 'refreshed')).toEqual([])
    expect(outcomes.filter(({ is }) => is === 'reused')).toHaveLength(1)
  })
})

test('the grant of a token of either kind is known to its client alone, and ends once', async () => {
  for (const kind of ['token', 'refreshToken'] as const) {
    const made = await grant()
    expect(await grantOfToken(api.pool, made[kind], 'other')).toBe(null)
    expect(await grantOfToken(api.pool, made[kind], 'client')).toBe(made.id)
    expect(await endGrant(api.pool, made.id)).toMatchObject({ id: made.id, client_id: 'client' })
    expect(await endGrant(api.pool, made.id)).toBe(null)
    expect(await find(made.token)).toBe(null)
    await expect(assertGranted(api.pool, { keyId: made.id } as never)).rejects.toThrow('has ended')
    expect((await listGrants(api.pool)).map(({ operator }) => operator)).not.toContain(made.operator)
  }
})

test('a grant whose client has let all tokens expire ends, and is removed 400 days later', async () => {
  const [silent, used, old] = [await grant(), await grant(), await grant()]
  await api.pool.query(`update mcp_tokens set expires_at = now() - interval '1 second' where grant_id = $1`, [silent.id])
  await api.pool.query(`update mcp_tokens set expires_at = now() - interval '1 day' where grant_id = $1 and kind = 'access'`, [used.id])
  await api.pool.query(`update mcp_grants set ended_at = now() - interval '401 days' where id = $1`, [old.id])
  await dropOldGrants(api.pool, 1_000)
  const { rows } = await api.pool.query('select id, ended_at is null as lives from mcp_grants where id = any ($1) order by id', [
    [silent.id, used.id, old.id],
  ])
  expect(rows).toEqual([
    { id: silent.id, lives: false },
    { id: used.id, lives: true },
  ])
})
