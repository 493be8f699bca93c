import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operator } from '../../cli/operator.ts'
import { roleIn } from '../../domain/operators/roles.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { mailHost } from '../harness/mail.ts'
import { PASSWORD, visitor } from '../harness/operators.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ada', SUDO_USER: '', PUBLIC_URL: api.url }
})
afterAll(() => api.stop())

const run = (...args: string[]) => call(operator, args, env)
const project = () => String(api.project.id)
const idOf = async (email: string) => (await api.pool.query('select id from operators where email = $1', [email])).rows[0]?.id as string
const entries = async (email: string) => (await api.call('GET', `/v4/audit-log?filter[resource_id]=${await idOf(email)}`)).body.data
const codeIn = (text: string) => /\/console\/join#([\w-]{43})/.exec(text)?.[1] ?? ''
const join = async (out: string) => {
  const browser = visitor(api.url)
  await browser.open('/console/join')
  await browser.send('/console/join', { code: codeIn(out), password: PASSWORD, repeated: PASSWORD })
  return browser
}
const isIn = async (browser: ReturnType<typeof visitor>) => (await browser.open('/console/account')).status === 200

describe('operator create', () => {
  test('makes an account with a role and a link, and leaves an entry', async () => {
    const { code, out } = await run('create', 'ben@example.org', '--name', 'Ben', '--role', 'editor', '--project', project())
    expect([code, out]).toEqual([0, expect.stringContaining(`ben@example.org is editor of project ${project()}.`)])
    expect(await isIn(await join(out))).toBe(true)
    expect(await roleIn(api.pool, await idOf('ben@example.org'), api.project.id)).toBe('editor')
    const after = { id: await idOf('ben@example.org'), email: 'ben@example.org', role: 'editor' }
    expect(await entries('ben@example.org')).toMatchObject([
      { operation: 'operator create', actor: { kind: 'cli', id: 'ada' }, before: null, after },
    ])
    expect(JSON.stringify(await entries('ben@example.org'))).not.toContain(codeIn(out))
  })

  test('takes a password from standard input', async () => {
    const args = ['create', 'owner@example.org', '--owner', '--password-stdin']
    expect(await call(operator, args, env, undefined, 'short\n')).toMatchObject({
      code: 1,
      notes: expect.stringContaining('12 characters'),
    })
    expect(await call(operator, args, env, undefined, `${PASSWORD}\n`)).toMatchObject({ code: 0, out: expect.not.stringContaining('Link') })
    expect((await visitor(api.url).signIn('owner@example.org')).status).toBe(303)
  })

  test.each([
    [['create'], 'an e-mail address is missing'],
    [['create', 'x@example.org'], 'say what the operator may do'],
    [['create', 'x@example.org', '--owner', '--role', 'admin'], 'say what the operator may do'],
    [['create', 'x@example.org', '--role', 'king'], '--role must be'],
    [['create', 'nobody', '--owner'], 'must be an e-mail address'],
    [['create', 'OWNER@example.org', '--owner'], 'there is an operator'],
    [['create', 'x@example.org', '--role', 'admin', '--project', '999'], 'project 999 not found'],
    [['role', 'nobody@example.org', 'admin'], 'there is no such operator'],
    [['role', 'owner@example.org'], 'which role?'],
    [['role', 'owner@example.org', 'admin', '--owner'], 'which role?'],
    [['close'], 'which operator?'],
    [['second-factor'], 'needed or optional?'],
  ])('%j is refused in words', async (args, says) => {
    expect(await run(...args)).toMatchObject({ code: 1, notes: expect.stringContaining(says) })
  })
})

test('an invitation goes by mail where there is a mail server, and may be sent again until it is taken', async () => {
  const host = await mailHost()
  const mailing = { ...env, SMTP_URL: `smtp://127.0.0.1:${host.port}`, SMTP_FROM: 'Perennial <service@example.org>' }
  const invite = (more: string[] = []) => call(operator, ['invite', 'eve@example.org', ...more], mailing)
  const first = await invite(['--role', 'viewer', '--project', project()])
  expect([first.code, first.out.includes('#')]).toEqual([0, false])
  for (const other of [['--owner'], ['--role', 'admin', '--project', project()]])
    expect(await invite(other)).toMatchObject({ code: 1, notes: expect.stringContaining('other rights') })
  expect((await invite()).code).toBe(0)
  const texts = host.received.map(({ mail }) => mail.text ?? '')
  expect([texts.length, host.received[0]!.to]).toEqual([2, ['eve@example.org']])
  expect(await isIn(await join(texts[0]!))).toBe(false)
  expect(await isIn(await join(texts[1]!))).toBe(true)
  expect(await invite()).toMatchObject({ code: 1, notes: expect.stringContaining('has a password') })
  await host.close()
  const unsent = await run('invite', 'finn@example.org', '--role', 'viewer', '--project', project())
  expect([unsent.code, codeIn(unsent.out), unsent.notes]).toEqual([
    0,
    expect.stringMatching(/^.{43}$/),
    'SMTP_URL is not set: nothing was sent',
  ])
})

describe('an operator', () => {
  const signedIn = async (email: string, ...rights: string[]) => join((await run('create', email, ...rights)).out)

  test('loses the sessions with each change of a role, and the role at once', async () => {
    const browser = await signedIn('gil@example.org', '--role', 'viewer', '--project', project())
    const id = await idOf('gil@example.org')
    expect(await isIn(browser)).toBe(true)
    expect((await run('role', 'gil@example.org', 'viewer', '--project', project())).code).toBe(0)
    expect(await isIn(browser)).toBe(true)
    expect((await run('role', 'gil@example.org', 'admin', '--project', project())).out).toContain('is admin of project')
    expect([await isIn(browser), await roleIn(api.pool, id, api.project.id)]).toEqual([false, 'admin'])
    await run('role', 'gil@example.org', 'none', '--project', project())
    expect(await roleIn(api.pool, id, api.project.id)).toBeNull()
    expect(
      (await entries('gil@example.org')).map((one: { before: { role: string } | null; after: { role: string } | null }) => [
        one.before?.role,
        one.after?.role,
      ]),
    ).toEqual([
      ['admin', undefined],
      ['viewer', 'admin'],
      [undefined, 'viewer'],
    ])
  })

  test('who is reset chooses another password', async () => {
    const browser = await signedIn('hal@example.org', '--role', 'viewer', '--project', project())
    const { out } = await run('reset', 'HAL@example.org')
    expect([await isIn(browser), (await visitor(api.url).signIn('hal@example.org')).status]).toEqual([false, 401])
    const again = await join(out)
    expect(await isIn(again)).toBe(true)
    expect((await run('sign-out', 'hal@example.org')).out).toBe('hal@example.org is signed out: 1 session has ended.')
    expect(await isIn(again)).toBe(false)
  })

  test('who is closed signs in no more, and the address is free', async () => {
    const browser = await signedIn('ida@example.org', '--role', 'viewer', '--project', project())
    const id = await idOf('ida@example.org')
    expect((await run('close', 'ida@example.org')).code).toBe(0)
    expect([await isIn(browser), await roleIn(api.pool, id, api.project.id)]).toEqual([false, null])
    expect((await entries('ida@example.org'))[0]).toMatchObject({ operation: 'operator close', before: { role: 'viewer' }, after: null })
    expect((await run('create', 'ida@example.org', '--role', 'viewer', '--project', project())).code).toBe(0)
  })

  test('who is the last owner stays one', async () => {
    for (const args of [
      ['close', 'owner@example.org'],
      ['role', 'owner@example.org', 'none', '--owner'],
    ])
      expect(await run(...args)).toMatchObject({ code: 1, notes: expect.stringContaining('the last owner') })
    await signedIn('jo@example.org', '--owner')
    expect(await roleIn(api.pool, await idOf('jo@example.org'), api.project.id)).toBe('admin')
    // Of two owners who are removed at the same time one stays.
    const both = await Promise.all(['owner', 'jo'].map(name => run('role', `${name}@example.org`, 'none', '--owner')))
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1])
    const left = JSON.parse((await run('list', '--json')).out).filter((one: { is_owner: boolean }) => one.is_owner)
    expect(left).toHaveLength(1)
    const other = left[0].email === 'jo@example.org' ? 'owner@example.org' : 'jo@example.org'
    expect((await run('role', other, '--owner')).out).toContain('is an owner of this installation')
  })

  test('is listed without anything secret', async () => {
    const { out } = await run('list')
    expect(out).toMatch(/^e-mail +name +rights +password +second factor/)
    expect(out).toMatch(new RegExp(`ben@example.org +Ben +editor of ${project()} +yes +no`))
    expect(out).toMatch(/finn@example.org .*invited/)
    expect((await run('list', '--json')).out).not.toContain('argon2')
  })
})

test('a second factor is demanded of one operator or of everybody', async () => {
  const { out } = await run('create', 'kim@example.org', '--role', 'viewer', '--project', project())
  const browser = await join(out)
  expect((await run('second-factor', 'needed', 'kim@example.org')).out).toBe('A second factor is demanded of kim@example.org.')
  expect([await isIn(browser), (await visitor(api.url).signIn('kim@example.org')).location]).toEqual([
    false,
    expect.stringContaining('/sign-in/second-factor'),
  ])
  await run('second-factor', 'optional', 'kim@example.org')
  expect((await visitor(api.url).signIn('kim@example.org')).location).toBe('/console/account')
  await run('second-factor', 'needed')
  expect((await visitor(api.url).signIn('ben@example.org')).location).toContain('/sign-in/second-factor')
  await run('second-factor', 'optional')
  expect((await visitor(api.url).signIn('ben@example.org')).location).toBe('/console/account')
})
