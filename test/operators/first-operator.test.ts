// The first operator and those who are invited: links that open once.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as pathOf } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { firstOperator } from '../../app/first-operator.ts'
import { greeting } from '../../app/greeting.ts'
import { createOperator, listOperators } from '../../domain/operators/accounts.ts'
import { firstOperatorCode, makeLink } from '../../domain/operators/links.ts'
import { roleIn } from '../../domain/operators/roles.ts'
import { readSession } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { newOperator, PASSWORD, visitor } from '../harness/operators.ts'

let api: TestApi
let folder: string
beforeAll(async () => {
  api = await startApi()
  folder = await mkdtemp(pathOf(tmpdir(), 'perennial-first-operator-'))
})
afterAll(async () => {
  await api.stop()
  await rm(folder, { recursive: true, force: true })
})

const start = (isShown: boolean) =>
  firstOperator(api.pool, api.secrets, { dataDir: folder, url: api.url, isShown, log: { warn: () => {} } })
const fields = (code: string, more = {}) => ({
  code,
  email: 'ada@example.org',
  name: 'Ada',
  password: PASSWORD,
  repeated: PASSWORD,
  ...more,
})
const post = async (path: string, sent: Record<string, string>) => {
  const browser = visitor(api.url)
  await browser.open(path)
  return { browser, answer: await browser.send(path, sent) }
}

test('the first operator signs up with a link that opens once, and is the owner', async () => {
  // Two processes that start at once have one link, and a later one has it, too.
  const codes = new Set(await Promise.all([1, 2, 3, 4].map(() => firstOperatorCode(api.pool, api.secrets))))
  const [code] = codes as Set<string>
  expect([codes.size, (await api.pool.query('select 1 from operator_links')).rowCount]).toEqual([1, 1])

  const shown = await start(true)
  expect(shown).toEqual({ link: `${api.url}/console/first#${code}`, file: null })
  await expect(stat(pathOf(folder, 'first-operator'))).rejects.toThrow('ENOENT')
  const kept = await start(false)
  const file = kept!.file!
  expect([await readFile(file, 'utf8'), (await stat(file)).mode & 0o777]).toEqual([`${shown!.link}\n`, 0o600])
  const perennial = { url: api.url, metricsUrl: null, console: null, keys: null, keysFile: null, stop: async () => {} }
  const lines = (first: typeof shown) => greeting({ ...perennial, firstOperator: first }, readConfig({})).join('\n')
  expect([lines(shown).includes(shown!.link!), lines(kept).includes(code!), lines(kept).includes(file)]).toEqual([true, false, true])
  expect(lines(null)).not.toContain('operator')

  for (const [sent, status] of [
    [fields('x'.repeat(43)), 422],
    [fields(code!, { repeated: 'something else here' }), 422],
    [fields(code!, { password: 'short', repeated: 'short' }), 422],
    [fields(code!, { email: 'nobody' }), 422],
    [fields(code!, { email: 'a\0b@example.org' }), 422],
    [fields(code!, { name: 'n'.repeat(101) }), 422],
    [fields(code!, { form_token: '' }), 403],
  ] as const)
    expect([sent, (await post('/console/first', sent)).answer.status]).toEqual([sent, status])
  // A link of one kind is none of the other.
  expect((await post('/console/join', fields(code!))).answer.status).toBe(422)

  // Somebody pastes the whole link. Of two at the same time one is the first.
  const both = await Promise.all(['ada', 'eve'].map(name => post('/console/first', fields(shown!.link!, { email: `${name}@example.org` }))))
  expect(both.map(({ answer }) => answer.status).sort()).toEqual([303, 422])
  const { browser } = both.find(({ answer }) => answer.status === 303)!
  const { operator } = (await readSession(api.pool, browser.cookies.get('perennial')!))!
  expect([operator.isOwner, await roleIn(api.pool, operator.id, api.project.id)]).toEqual([true, 'admin'])
  expect(await listOperators(api.pool)).toHaveLength(1)
  expect((await post('/console/first', fields(code!))).answer.text).toContain('This link is over')

  expect(await start(false)).toBeNull()
  await expect(stat(file)).rejects.toThrow('ENOENT')
})

test('a folder that cannot be written is named in a warning, and the start goes on', async () => {
  const empty = await startApi()
  const file = pathOf(folder, 'a-file')
  await writeFile(file, '')
  const warned: unknown[] = []
  const log = { warn: (...line: unknown[]) => void warned.push(...line) }
  expect(await firstOperator(empty.pool, empty.secrets, { dataDir: pathOf(file, 'data'), url: empty.url, isShown: false, log })).toBeNull()
  expect(warned).toEqual([{ why: expect.stringContaining('ENOTDIR') }, expect.stringContaining('operator create EMAIL --owner')])
  expect(JSON.stringify(warned)).not.toContain('#')
  await empty.stop()
})

describe('an invitation', () => {
  const invited = async (email: string) =>
    transaction(api.pool, async tx => {
      const id = await createOperator(tx, { email, name: 'Ben', isOwner: false, passwordHash: null })
      return { id, code: await makeLink(tx, id) }
    })

  test('sets the password once, for 72 hours', async () => {
    const { id, code } = await invited('ben@example.org')
    expect((await post('/console/first', fields(code))).answer.status).toBe(422)
    const { answer, browser } = await post('/console/join', { code, password: PASSWORD, repeated: PASSWORD })
    expect([answer.status, answer.location]).toEqual([303, '/console/account'])
    expect(await readSession(api.pool, browser.cookies.get('perennial')!)).toMatchObject({ operator: { id, name: 'Ben' } })
    expect((await post('/console/join', { code, password: PASSWORD, repeated: PASSWORD })).answer.status).toBe(422)
    const late = await invited('late@example.org')
    const { rows } = await api.pool.query<{ hours: number }>(
      `select extract(epoch from expires_at - clock_timestamp())::float8 / 3600 as hours from operator_links where operator = $1`,
      [late.id],
    )
    expect(rows[0]!.hours).toBeCloseTo(72, 1)
    await api.pool.query(`update operator_links set expires_at = clock_timestamp()`)
    expect((await post('/console/join', { code: late.code, password: PASSWORD, repeated: PASSWORD })).answer.status).toBe(422)
  })

  test('opens once of two at the same time, and a later link replaces an earlier one', async () => {
    const { id, code } = await invited('two@example.org')
    const second = await transaction(api.pool, tx => makeLink(tx, id))
    const sent = (one: string) => ({ code: one, password: PASSWORD, repeated: PASSWORD })
    expect((await post('/console/join', sent(code))).answer.status).toBe(422)
    const both = await Promise.all([post('/console/join', sent(second)), post('/console/join', sent(second))])
    expect(both.map(({ answer }) => answer.status).sort()).toEqual([303, 422])
  })

  test('is stored as a hash', async () => {
    const { code } = await invited('hash@example.org')
    expect(JSON.stringify((await api.pool.query('select * from operator_links')).rows)).not.toContain(code)
  })
})

test('two accounts with one address are refused, in whatever case', async () => {
  const { email } = await newOperator(api)
  await expect(newOperator(api, { email: email.toUpperCase() })).rejects.toThrow('there is an operator')
})
