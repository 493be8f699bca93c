import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stores as command } from '../../cli/stores.ts'
import { call, start } from './call.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const check = () => commands.run('check', commands.at.project.id)
const wrongIn = (out: string) => out.split('\n').filter(line => line.startsWith('  wrong'))

test('a project, or a word, that there is not is reported in one line', async () => {
  expect(await commands.run('check', 4711)).toEqual({ code: 1, out: '', notes: 'project 4711 not found' })
  expect((await commands.run('check', 'x')).notes).toContain('"x" is not a project id')
  expect((await commands.run('check')).notes).toContain('which project?')
  expect((await commands.run('chek', 1)).notes).toBe('there is no command "stores chek", did you mean check?')
})

test('nothing set up is reported, with where it is written what to enter', async () => {
  const result = await check()
  expect(result.code).toBe(1)
  expect(result.out).toContain('docs/stores.md')
})

test('as a process of its own it ends with the exit code, and a wrong word shows the way to the usage', async () => {
  const { at, env } = commands
  await at.connectApple()
  const right = await start(['stores', 'check', String(at.project.id)], env).ended
  expect(right.code).toBe(0)
  expect(right.notes).not.toContain('perennial:')
  expect(right.out).toContain('ok     App Store Server API, production')
  expect(await start(['stores', 'chek'], env).ended).toMatchObject({ code: 1, notes: expect.stringContaining('See "help stores".') })
  expect((await start(['help', 'stores']).ended).out).toContain('transfer PROJECT LINEAGE [options]')
})

describe('Apple', () => {
  test('is right when both environments accept the key; the address to enter is reported', async () => {
    const { at, env } = commands
    await at.connectApple()
    const { code, out } = await check()
    expect(wrongIn(out)).toEqual([])
    const json = await commands.run('check', at.project.id, '--json')
    expect(json.code).toBe(0)
    const [apple, ...others] = JSON.parse(json.out)
    expect(others).toEqual([])
    expect(apple).toMatchObject({
      store: 'apple',
      findings: expect.arrayContaining([{ is: 'ok', text: expect.stringContaining('App Store Server API, production') }]),
    })
    expect(code).toBe(0)
    expect(out).toContain('ok     App Store Server API, production')
    expect(out).toContain('ok     App Store Server API, sandbox')
    expect(out).toContain('ok     root certificate')
    expect(out).toContain(`enter ${env.PUBLIC_URL}/stores/apple/${at.project.id} in App Store Connect`)
    expect(out).toContain('no push has arrived yet')
  })

  test('without a key the missing fields are named, and nothing is asked', async () => {
    await commands.at.connectApple({ isConnected: false })
    const requestCount = commands.at.apple.requests.length
    const { code, out } = await check()
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([expect.stringContaining('lacks iap_key_identifier, iap_private_key, iap_issuer_id')])
    expect(commands.at.apple.requests.length).toBe(requestCount)
  })

  test('a key that one environment refuses is wrong in that one', async () => {
    const { at } = commands
    await at.connectApple()
    at.apple.override = ({ path }) => (path.startsWith('/production') ? { status: 401, body: 'Unauthenticated' } : null)
    const { code, out } = await check()
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([expect.stringMatching(/App Store Server API, production \(http_401\): .*approved for the first time/)])
    expect(out).toContain('ok     App Store Server API, sandbox')
  })

  test('a server that fails is no verdict on the key', async () => {
    const { at } = commands
    await at.connectApple()
    at.apple.override = () => ({ status: 500 })
    const { code, out } = await check()
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([
      expect.stringContaining('production (http_500): Apple gave no answer'),
      expect.stringContaining('sandbox (http_500): Apple gave no answer'),
    ])
  })

  test('nobody at the address is reported, and not as a fault of the key', async () => {
    await commands.at.connectApple()
    const env = { ...commands.env, APPLE_API_URL: 'http://127.0.0.1:9' }
    const { code, out } = await call(command, ['check', String(commands.at.project.id)], env)
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([expect.stringMatching(/production \(.*\): Apple gave no answer/)])
  })

  test('a store that is switched off is wrong', async () => {
    await commands.at.connectApple()
    await commands.at.api.pool.query('update store_configs set enabled = false where project = $1', [commands.at.project.id])
    const { code, out } = await check()
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([expect.stringContaining('switched off')])
  })
})

test('an address that no store can send to is wrong', async () => {
  await commands.at.connectApple()
  const { PUBLIC_URL: _, ...env } = commands.env
  const { code, out } = await call(command, ['check', String(commands.at.project.id)], env)
  expect(code).toBe(1)
  expect(wrongIn(out)).toEqual([expect.stringContaining('PUBLIC_URL is not set')])
})

describe('Google Play', () => {
  test('is right when purchases, orders and voided purchases may be read', async () => {
    const { at, env } = commands
    await at.connectGoogle()
    const { code, out } = await check()
    expect(wrongIn(out)).toEqual([])
    expect(code).toBe(0)
    for (const permission of ['purchases', 'orders', 'voided purchases']) expect(out).toContain(`ok     Developer API, ${permission}`)
    expect(out).toContain(`enter ${env.PUBLIC_URL}/stores/google/${at.project.id} as the endpoint of a push subscription`)
    expect(out).toContain('"Enable authentication"')
  })

  test.each([
    ['purchases', 'subscriptionsv2', 'View app information'],
    ['orders', 'orders:batchGet', 'View financial data'],
    ['voided purchases', 'voidedpurchases', 'View financial data'],
  ])('without permission for %s that one is wrong', async (permission, path, hint) => {
    const { at } = commands
    await at.connectGoogle()
    at.google.instead = request =>
      decodeURIComponent(request.path).includes(path)
        ? { status: 403, body: { error: { code: 403, message: 'The caller does not have permission', status: 'PERMISSION_DENIED' } } }
        : undefined
    const { code, out } = await check()
    expect(code).toBe(1)
    expect(wrongIn(out)).toEqual([expect.stringMatching(new RegExp(`Developer API, ${permission} \\(http_403\\): .*${hint}`))])
  })

  test('an account that gets no token is wrong everywhere', async () => {
    const { at } = commands
    await at.connectGoogle()
    at.google.tokens.refuse = { status: 400, body: { error: 'invalid_grant' } }
    const { code, out } = await check()
    at.google.tokens.refuse = null
    expect(code).toBe(1)
    expect(wrongIn(out)).toHaveLength(3)
    expect(wrongIn(out)[0]).toMatch(/no_access_token\): service_account_key must be/)
  })

  test('an app that the account does not see is a wrong package', async () => {
    const { at } = commands
    await at.connectGoogle()
    at.google.instead = () => ({ status: 404, body: { error: { code: 404, message: 'No application was found', status: 'NOT_FOUND' } } })
    expect(wrongIn((await check()).out)).toEqual([expect.stringMatching(/voided purchases \(http_404\): package_name must be/)])
  })
})

test('an alert and what was set aside make it wrong, each with what to do', async () => {
  const { at } = commands
  await at.connectApple()
  await at.api.pool.query(
    `insert into store_alerts (project, platform, environment, alert, about) values ($1, 'apple', $2, 'push_missing', '')`,
    [at.project.id, at.project.production],
  )
  const { code, out } = await check()
  expect(code).toBe(1)
  expect(wrongIn(out)).toEqual([expect.stringMatching(/alert push_missing \(production\) of .*enter the address at the store/)])
})
