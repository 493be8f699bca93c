// What somebody tries who is not the client, not the operator, or not the client any more.
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resetOperator } from '../../domain/operators/accounts.ts'
import { dropUnusedClients } from '../../domain/operators/grants/clients.ts'
import { transaction } from '../../store/transaction.ts'
import { clientDocuments } from '../../workflows/outgoing/client-document.ts'
import { type Outgoing, outgoing } from '../../workflows/outgoing/outgoing.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { connected } from '../harness/mcp.ts'
import {
  authorizePath,
  connectedClient,
  consent,
  type OAuthAnswer,
  pkce,
  post,
  REDIRECT,
  register,
  signedInOperator,
  takeOf,
} from '../harness/oauth.ts'
import { type Visitor, visitor } from '../harness/operators.ts'
import { until } from '../harness/until.ts'

const ADDRESS = 'https://assistant.example.org/client.json'
const documents = new Map<string, string>()
const server = createServer((request, answer) => {
  answer.setHeader('Content-Type', 'application/json')
  if (request.url === '/moving.json') answer.writeHead(302, { Location: '/moved.json' })
  answer.end(documents.get(request.url!) ?? '')
})
const plain = outgoing({ allowPrivateNetwork: true })
let fetched = 0
/** Stands for the internet: the documents of every host are on this machine, without TLS. */
const internet: Outgoing = {
  ...plain,
  request(request) {
    fetched += 1
    return plain.request({ ...request, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(request.url).pathname}` })
  },
}

let api: TestApi
/** Behind a proxy, so that each test registers from an address of its own. */
beforeAll(async () => {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  api = await startApi({ documents: internet })
  clientId = (await register(api.url)).body.client_id
})
afterAll(async () => {
  await api.stop()
  await plain.close()
  server.close()
})
let clientId: string

const works = (token: string) =>
  connected(api.url, token).then(
    () => true,
    () => false,
  )

describe('a request to authorize', () => {
  const nobody = visitor('')
  let somebody: Visitor
  beforeAll(async () => {
    somebody = (await signedInOperator(api, api.project)).browser
  })
  const errorOf = async (more: Record<string, string>, who = somebody) => {
    const { status, location } = await who.open((who === nobody ? api.url : '') + authorizePath(clientId, pkce().challenge, more))
    return location?.startsWith(REDIRECT) ? new URL(location).searchParams.get('error') : `${status} ${location ?? 'page'}`
  }

  test('without PKCE, with plain PKCE, for another resource or another flow is refused at the redirect URI', async () => {
    expect(await errorOf({ code_challenge_method: 'plain' })).toBe('invalid_request')
    expect(await errorOf({ code_challenge_method: '' })).toBe('invalid_request')
    expect(await errorOf({ code_challenge: '' })).toBe('invalid_request')
    expect(await errorOf({ resource: 'https://other.example.org/mcp' })).toBe('invalid_target')
    expect(await errorOf({ response_type: 'token' })).toBe('unsupported_response_type')
    expect(await errorOf({ scope: 'nothing:read' })).toBe('invalid_scope')
    const twice = await somebody.open(`${authorizePath(clientId, pkce().challenge)}&state=other`)
    expect(Object.fromEntries(new URL(twice.location!).searchParams)).toMatchObject({ error: 'invalid_request', iss: api.url })
    expect(new URL(twice.location!).searchParams.has('state')).toBe(false)
  })

  test('sends nobody away who is not signed in', async () => {
    expect(await errorOf({ response_type: '' }, nobody)).toBe('400 page')
    expect(await errorOf({ scope: 'nothing:read' }, nobody)).toBe('400 page')
    expect(await errorOf({}, nobody)).toMatch(/^303 \/sign-in/)
  })

  test('of an unknown client or with another redirect URI gets a page, never a redirect', async () => {
    expect(await errorOf({ client_id: 'oac_unknown' })).toBe('400 page')
    for (const redirect_uri of ['https://evil.example.org/', `${REDIRECT}/more`, 'http://localhost:4567/callback', `${REDIRECT}?x=1`])
      expect(await errorOf({ redirect_uri })).toBe('400 page')
    // A program takes a port that is free.
    expect(await errorOf({ redirect_uri: 'http://127.0.0.1:9999/callback' })).toBe('200 page')
  })

  test('is allowed by the form of its own page only', async () => {
    const { browser } = await signedInOperator(api, api.project)
    const path = authorizePath(clientId, pkce().challenge)
    await browser.open(path)
    const fields = { project: String(api.project.id), environment: 'sandbox', decision: 'allow', scope: 'events:read' }
    expect((await browser.send(path, { ...fields, form_token: 'guessed' })).status).toBe(403)
    expect((await browser.send(path, fields, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
    expect(new URL((await browser.send(path, fields)).location!).searchParams.get('code')).toMatch(/^pnc_/)
    const foreign = await api.newProject()
    expect(await browser.send(path, { ...fields, project: String(foreign.id) })).toMatchObject({ status: 422, location: null })
  })
})

describe('a code', () => {
  test('opens nothing with another verifier, redirect URI or client', async () => {
    const { browser } = await signedInOperator(api, api.project)
    const { verifier, challenge } = pkce()
    const { query } = await consent(browser, authorizePath(clientId, challenge))
    const take = takeOf(query, clientId, verifier)
    const error = async (more: object) => (await post(api.url, '/oauth/token', { ...take, ...more })).body.error
    expect(await error({ code_verifier: pkce().verifier })).toBe('invalid_grant')
    expect(await error({ redirect_uri: 'http://127.0.0.1:1/callback' })).toBe('invalid_grant')
    expect(await error({ client_id: ADDRESS })).toBe('invalid_grant')
    expect(await error({ client_id: 'oac_unknown' })).toBe('invalid_client')
    expect(await error({ resource: 'https://other.example.org' })).toBe('invalid_target')
    expect(await error({ grant_type: 'password' })).toBe('unsupported_grant_type')
    expect(await error({ code_verifier: '' })).toBe('invalid_request')
    expect(await error({})).toBeUndefined()
  })

  test('that is used again ends the grant', async () => {
    const { take, tokens } = await connectedClient(api)
    expect(await works(tokens.access_token)).toBe(true)
    expect((await post(api.url, '/oauth/token', take)).body.error).toBe('invalid_grant')
    expect(await works(tokens.access_token)).toBe(false)
    const { body } = await api.call('GET', '/v4/audit-log?limit=1')
    expect(body.data).toMatchObject([{ operation: 'oauth reuse', resource: 'grant', actor: { kind: 'system' } }])
  })

  test('that two take at the same time leaves no grant in force', async () => {
    const { browser } = await signedInOperator(api, api.project)
    const { verifier, challenge } = pkce()
    const { query } = await consent(browser, authorizePath(clientId, challenge))
    const take = takeOf(query, clientId, verifier)
    const answers = await Promise.all([1, 2].map(() => post(api.url, '/oauth/token', take)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    expect(await works(answers.find(({ status }) => status === 200)!.body.access_token)).toBe(false)
  })

  test('is over after a minute', async () => {
    const { browser } = await signedInOperator(api, api.project)
    const { verifier, challenge } = pkce()
    const { query } = await consent(browser, authorizePath(clientId, challenge))
    await api.pool.query(`update oauth_codes set expires_at = expires_at - interval '61 s'`)
    const take = takeOf(query, clientId, verifier)
    expect((await post(api.url, '/oauth/token', take)).body.error).toBe('invalid_grant')
  })
})

test('what an operator has allowed ends with a reset of the account, also where the code was not taken yet', async () => {
  const { operator, browser } = await signedInOperator(api, api.project)
  const { verifier, challenge } = pkce()
  const path = authorizePath(clientId, challenge)
  const { query } = await consent(browser, path)
  await transaction(api.pool, tx => resetOperator(tx, operator.id))
  expect((await post(api.url, '/oauth/token', takeOf(query, clientId, verifier))).body.error).toBe('invalid_grant')
})

test('a session that ends while the page of consent is answered allows nothing', async () => {
  const { operator, browser } = await signedInOperator(api, api.project)
  const path = authorizePath(clientId, pkce().challenge)
  await browser.open(path)
  const lock = await api.pool.connect()
  await lock.query('begin')
  await lock.query('select 1 from operators where id = $1 for no key update', [operator.id])
  await lock.query('delete from operator_sessions where operator = $1', [operator.id])
  const fields = { project: String(api.project.id), environment: 'sandbox', decision: 'allow', scope: 'events:read' }
  const answer = browser.send(path, fields)
  const waiting = async () =>
    (await api.pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)).rowCount === 1
  await until('the page waits', async () => (await waiting()) || undefined)
  await lock.query('commit')
  lock.release()
  expect((await answer).location).toMatch(/^\/sign-in\?next=/)
})

describe('a refresh token', () => {
  test('gives another pair within 30 s of its use; later its use ends the grant', async () => {
    const { clientId, tokens } = await connectedClient(api)
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: clientId }
    const [first, second] = [await post(api.url, '/oauth/token', refresh), await post(api.url, '/oauth/token', refresh)]
    expect([first.status, second.status, first.headers.get('cache-control')]).toEqual([200, 200, 'no-store'])
    expect(await works(second.body.access_token)).toBe(true)
    await api.pool.query(`update mcp_tokens set used_at = used_at - interval '31 s' where used_at is not null`)
    expect((await post(api.url, '/oauth/token', refresh)).body.error).toBe('invalid_grant')
    expect(await works(second.body.access_token)).toBe(false)
  })

  test('of another client opens and ends nothing; one pair may have fewer scopes, never more', async () => {
    const { clientId: own, tokens } = await connectedClient(api)
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    expect((await post(api.url, '/oauth/token', { ...refresh, client_id: clientId })).body.error).toBe('invalid_grant')
    expect((await post(api.url, '/oauth/revoke', { token: tokens.refresh_token, client_id: clientId })).status).toBe(200)
    expect(await works(tokens.access_token)).toBe(true)
    expect((await post(api.url, '/oauth/token', { ...refresh, client_id: own, scope: 'none:read' })).body.error).toBe('invalid_scope')
    const few = await connectedClient(api, api.project, 'viewer')
    const more = { grant_type: 'refresh_token', refresh_token: few.tokens.refresh_token, client_id: few.clientId, scope: 'events:write' }
    expect((await post(api.url, '/oauth/token', more)).body.error).toBe('invalid_scope')
    const narrow = (await post(api.url, '/oauth/token', { ...refresh, client_id: own, scope: 'events:read' })).body
    expect(narrow.scope).toBe('events:read')
    // What the refresh token gives stays as it is.
    const wide = await post(api.url, '/oauth/token', { ...refresh, refresh_token: narrow.refresh_token, client_id: own })
    expect(wide.body.scope).toBe(tokens.scope)
  })

  test('is taken sixty times an hour', async () => {
    const { clientId, tokens } = await connectedClient(api)
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: clientId }
    const answers: OAuthAnswer[] = []
    for (let count = 0; count < 61; count++) answers.push(await post(api.url, '/oauth/token', refresh))
    expect(answers.map(({ status }) => status)).toEqual([...Array(60).fill(200), 429])
    expect(Number(answers.at(-1)!.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

test('a role that is taken away takes effect at the next call', async () => {
  const { operator, tokens } = await connectedClient(api)
  const client = await connected(api.url, tokens.access_token)
  expect((await client.callTool({ name: 'list_entitlements', arguments: {} })).isError).toBeFalsy()
  await api.pool.query('delete from operator_roles where operator = $1', [operator.id])
  await expect(client.callTool({ name: 'list_entitlements', arguments: {} })).rejects.toThrow()
})

describe('a client that is named by a document', () => {
  const document = (more: object = {}) =>
    JSON.stringify({ client_id: ADDRESS, client_name: 'By document', redirect_uris: [REDIRECT], ...more })

  test('is known by it, and by its host on the page', async () => {
    documents.set('/client.json', document())
    const { browser } = await signedInOperator(api, api.project)
    const { verifier, challenge } = pkce()
    const before = fetched
    const { page: shown, query } = await consent(browser, authorizePath(ADDRESS, challenge))
    expect(shown.text).toContain('assistant.example.org')
    expect(fetched - before).toBe(1)
    const take = takeOf(query, ADDRESS, verifier)
    expect((await post(api.url, '/oauth/token', take)).status).toBe(200)
  })

  test('is refused when the document names another one, is larger than 5 kB, or is none', async () => {
    documents.set('/other.json', document())
    documents.set('/large.json', document({ client_id: 'https://assistant.example.org/large.json', more: 'x'.repeat(5_000) }))
    const { browser } = await signedInOperator(api, api.project)
    const statusOf = async (name: string) =>
      (await browser.open(authorizePath(`https://assistant.example.org/${name}`, pkce().challenge))).status
    for (const name of ['other.json', 'large.json', 'none.json']) expect(await statusOf(name)).toBe(400)
    const before = fetched
    expect(await statusOf('none.json')).toBe(400)
    expect(fetched).toBe(before)
  })

  test('is fetched for an operator alone, and for one of them not without a limit', async () => {
    const address = (name: number) => authorizePath(`https://assistant.example.org/${name}.json`, pkce().challenge)
    const before = fetched
    const answer = await fetch(api.url + address(0), { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, expect.stringMatching(/^\/sign-in\?next=/)])
    expect(fetched).toBe(before)
    const { browser } = await signedInOperator(api, api.project)
    const statuses: number[] = []
    for (let name = 0; name < 21; name++) statuses.push((await browser.open(address(name))).status)
    expect(statuses).toEqual([...Array(20).fill(400), 429])
    expect(fetched).toBe(before + 20)
  })

  test('is not fetched from a private address', async () => {
    let connections = 0
    const private_ = createTcpServer(socket => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>(done => private_.listen(0, '127.0.0.1', done))
    const { port } = private_.address() as AddressInfo
    const guarded = outgoing({ allowPrivateNetwork: false })
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::ffff:127.0.0.1]:${port}`, '10.0.0.1', '169.254.169.254'])
      expect(await guarded.request({ method: 'GET', url: `https://${host}/client.json`, limitMs: 5_000 })).toMatchObject({
        is: 'error',
        error: 'address_refused',
      })
    expect(connections).toBe(0)
    expect(await clientDocuments(plain)(`https://127.0.0.1:${port}/client.json`)).toBeNull()
    expect(connections).toBe(1)
    await guarded.close()
    private_.close()
  })

  test('is not known when its address leads to another one', async () => {
    documents.set('/moved.json', document({ client_id: 'https://assistant.example.org/moving.json' }))
    const { browser } = await signedInOperator(api, api.project)
    expect((await browser.open(authorizePath('https://assistant.example.org/moving.json', pkce().challenge))).status).toBe(400)
  })
})

test('a client without a grant for 90 days is removed', async () => {
  const { clientId: used } = await connectedClient(api)
  await api.pool.query(`update oauth_clients set granted_at = granted_at - interval '91 days' where id = any ($1)`, [[clientId, used]])
  await api.pool.query("update mcp_grants set ended_at = clock_timestamp() - interval '91 days' where client_id = $1", [clientId])
  expect(await dropUnusedClients(api.pool, 100)).toBe(1)
  expect((await api.pool.query('select 1 from oauth_clients where id = $1', [used])).rowCount).toBe(1)
})
