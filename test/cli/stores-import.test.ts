import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { confirmPatiently } from '../../cli/stores/import/patience.ts'
import { stores as command } from '../../cli/stores.ts'
import type { ClaimAnswer } from '../../workflows/stores/store-client.ts'
import { userOf } from '../harness/purchases.ts'
import { appleSubscription, MONTH_MS } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { paddleStory } from '../harness/stores/paddle-story.ts'
import { stripeStory } from '../harness/stores/stripe-story.ts'
import { type CommandResult, call, temporaryFolder } from './call.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

const DAY = 86_400_000
let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const MAP = ['--map', 'user={rc_original_app_user_id}', '--map', 'transaction={store_transaction_id}']

/** A file in a folder of its own, as RevenueCat exports it. */
async function place(rows: [user: string, transaction: string][]) {
  const folder = await temporaryFolder()
  const path = join(folder, 'file.csv')
  await writeFile(path, `rc_original_app_user_id,store_transaction_id,price\n${rows.map(row => `${row.join(',')},99.99\n`).join('')}`)
  return {
    path,
    run: (store: string, ...more: string[]): Promise<CommandResult> =>
      call(command, ['import', String(commands.at.project.id), store, path, ...MAP, ...more], { ...commands.env, DATA_DIR: folder }),
  }
}

const owned = async () =>
  (
    await commands.at.api.pool.query(
      `select l.lineage as name, u.identity_id as identity, l.user_id as user, count(p.id)::int as periods, bool_or(p.triggers) as triggers, max(p.price) as price
       from lineages l left join users u on u.environment = l.environment and u.id = l.user_id left join purchases p on p.lineage = l.id
       where l.environment = $1 group by l.id, u.identity_id order by l.id`,
      [commands.at.project.production],
    )
  ).rows
const emittedEvents = async () =>
  (
    await commands.at.api.pool.query('select name, triggers from events where environment = $1 order by id', [
      commands.at.project.production,
    ])
  ).rows

/** A subscription that Apple knows, of two months. */
function appleOfTwoMonths() {
  const subscription = appleSubscription(commands.at.chain)
  const begin = Date.now() - MONTH_MS - DAY
  subscription.subscribe(begin)
  subscription.renew(begin + MONTH_MS)
  commands.at.apple.production.lineages.push(subscription.state)
  return { name: subscription.lineage, ids: subscription.state.transactions.map(({ transactionId }) => String(transactionId)) }
}

describe('a file of Stripe or Paddle', () => {
  test('names subscriptions of Stripe; what is none is rejected', async () => {
    await commands.at.connectStripe()
    const story = stripeStory(commands.at.stripe, { id: 'sub_1' })
    story.subscribe(Date.now() - 40 * DAY)
    story.renew()
    const { run } = await place([
      ['ada', 'sub_1'],
      ['bob', 'in_1'],
    ])
    const result = await run('stripe', '--create-users', '--parallel', '1')
    expect(result.out).toMatch(/2 rows: 1 attached, 0 there already, 1 rejected/)
    expect(await owned()).toEqual([expect.objectContaining({ name: 'sub_1', identity: 'ada', periods: 2, triggers: false })])
  })

  test('names subscriptions or transactions of Paddle', async () => {
    await commands.at.connectPaddle()
    const [one, other] = [paddleStory(commands.at.paddle), paddleStory(commands.at.paddle)]
    for (const story of [one, other]) story.subscribe(Date.now() - 20 * DAY)
    const { run } = await place([
      ['ada', one.id],
      ['bob', other.latest().id],
    ])
    const result = await run('paddle', '--create-users', '--parallel', '1')
    expect(result.out).toMatch(/2 rows: 2 attached, 0 there already, 0 rejected/)
    expect((await owned()).map(({ name, identity }) => [name, identity])).toEqual([
      [one.id, 'ada'],
      [other.id, 'bob'],
    ])
  })
})

describe('a file of Apple', () => {
  test('attaches what Apple tells to users that are made, asks once a subscription and starts nothing', async () => {
    await commands.at.connectApple()
    const { name, ids } = appleOfTwoMonths()
    const { run } = await place(ids.map(id => ['ada', id]))
    const result = await run('apple', '--create-users', '--parallel', '1')
    expect(result.notes).toBe('')
    expect(result.out).toMatch(/2 rows: 1 attached, 1 there already, 0 rejected\.$/)
    expect(result.code).toBe(0)
    expect(await owned()).toEqual([expect.objectContaining({ name, identity: 'ada', periods: 2, triggers: false, price: '9.99' })])
    // Ada began with her first purchase, and not on the day of the import.
    const { rows: begun } = await commands.at.api.pool.query(
      `select u.created_at = min(p.purchased_at) as ok from users u join purchases p on p.environment = u.environment and p.user_id = u.id
       where u.environment = $1 group by u.created_at`,
      [commands.at.project.production],
    )
    expect(begun).toEqual([{ ok: true }])
    expect((await emittedEvents()).filter(({ name }) => name.startsWith('subscription'))).toEqual([
      { name: 'subscription_started', triggers: false },
      { name: 'subscription_renewed', triggers: false },
    ])
    expect(commands.at.apple.requests.filter(({ path }) => path.includes('/transactions/'))).toHaveLength(1)
    const { rows } = await commands.at.api.pool.query(
      'select name, next_check_at is not null as checked from store_lanes where project = $1',
      [commands.at.project.id],
    )
    expect(rows).toEqual([{ name, checked: true }])
  })

  test('a repeat finds everything there, and tells nothing twice', async () => {
    await commands.at.connectApple()
    const { ids } = appleOfTwoMonths()
    const { run, path } = await place([['ada', ids[1]!]])
    await run('apple', '--create-users')
    const [before, events] = [await owned(), await emittedEvents()]
    expect((await run('apple', '--create-users')).out).toContain(`${path} was imported already: 1 rows: 1 attached`)
    expect((await run('apple', '--again')).out).toContain('0 attached, 1 there already, 0 rejected')
    expect([await owned(), await emittedEvents()]).toEqual([before, events])
  })

  test('what Apple does not know, empty cells, users that there are not and purchases of others are rejected with their reason', async () => {
    const { at } = commands
    await at.connectApple()
    const { ids, name } = appleOfTwoMonths()
    const owner = await userOf(at.api, at.project.secret)
    const first = await place([[owner, ids[0]!]])
    await first.run('apple')
    const { ids: others } = appleOfTwoMonths()
    const { run } = await place([
      ['ada', ids[1]!],
      ['ada', '4711'],
      ['', others[0]!],
      ['bob', ''],
      ['a b', others[0]!],
      [owner, others[0]!],
    ])
    const result = await run('apple', '--create-users', '--rejects', join(await temporaryFolder(), 'rejects.csv'))
    expect(result.code).toBe(2)
    expect(result.out).toContain('6 rows: 1 attached, 0 there already, 5 rejected')
    const file = await readFile(/rejected rows: (.*)$/.exec(result.notes)![1]!, 'utf8')
    expect(file.split('\n').map(line => line.split(',').slice(0, 3).join(','))).toEqual([
      'row,field,reason',
      expect.stringMatching(/^1,user,"the purchase belongs to another user/),
      '2,transaction,Apple does not know it',
      '3,user,is empty',
      '4,transaction,is empty',
      expect.stringMatching(/^5,user,"a user can be named/),
      '',
    ])
    expect((await owned()).map(({ name, user }) => [name, user])).toEqual([
      [name, owner],
      [expect.any(String), owner],
    ])
    const none = await place([['nobody', others[0]!]])
    expect((await none.run('apple')).notes).toContain('row 1: user nobody is no user: --create-users makes one')
  })

  test('stops when the key is refused, and goes on from there', async () => {
    const { at } = commands
    await at.connectApple()
    const lineages = [appleOfTwoMonths(), appleOfTwoMonths(), appleOfTwoMonths()]
    const { run } = await place(lineages.map(({ ids }, n) => [`user-${n}`, ids[0]!]))
    const last = lineages[2]!.ids[0]!
    at.apple.override = ({ path }) => (path.includes(last) ? { status: 401, body: 'Unauthenticated' } : null)
    const args = ['--create-users', '--batch', '1', '--parallel', '1']
    const stopped = await run('apple', ...args)
    expect(stopped.code).toBe(1)
    expect(stopped.notes).toBe(
      `Apple does not accept the credentials (http_401): "stores check ${at.project.id}" says what to do; 2 rows are done; the same command continues from there`,
    )
    expect(await owned()).toHaveLength(2)
    at.apple.override = null
    const requestCount = at.apple.requests.length
    const result = await run('apple', ...args)
    expect(result.notes).toBe('continuing after row 2')
    expect(result.out).toContain('3 rows: 3 attached, 0 there already, 0 rejected')
    expect((await owned()).map(({ identity }) => identity)).toEqual(['user-0', 'user-1', 'user-2'])
    expect(
      at.apple.requests.slice(requestCount).filter(({ path }) => lineages.slice(0, 2).some(({ name }) => path.includes(name))),
    ).toEqual([])
  })

  test('stops at Ctrl-C with what is done', async () => {
    await commands.at.connectApple()
    const { path } = await place([['ada', appleOfTwoMonths().ids[0]!]])
    const args = ['import', String(commands.at.project.id), 'apple', path, ...MAP]
    const result = await call(command, args, { ...commands.env, DATA_DIR: await temporaryFolder() }, AbortSignal.abort())
    expect(result).toMatchObject({ code: 1, notes: 'stopped: 0 rows are done; the same command continues from there' })
    expect(await owned()).toEqual([])
  })
})

describe('a file of Google Play', () => {
  test('names tokens or orders; an order gives the token', async () => {
    const { at } = commands
    await at.connectGoogle()
    const one = playStory(at.google, { token: 'token-1', order: 'GPA.1111-1111-1111-11111' })
    const two = playStory(at.google, { token: 'token-2', order: 'GPA.2222-2222-2222-22222' })
    one.subscribe(Date.now() - DAY)
    two.subscribe(Date.now() - DAY)
    const { run } = await place([
      ['ada', 'GPA.1111-1111-1111-11111'],
      ['bob', 'token-2'],
      ['eve', 'GPA.3333-3333-3333-33333'],
    ])
    const result = await run('google', '--create-users', '--parallel', '1')
    expect(result.out).toContain('3 rows: 2 attached, 0 there already, 1 rejected')
    expect(result.notes).toContain('row 3: transaction Google Play does not know it')
    expect((await owned()).map(({ name, identity }) => [name, identity])).toEqual([
      ['token-1', 'ada'],
      ['token-2', 'bob'],
    ])
  })

  test('a purchase of a license tester belongs to the sandbox', async () => {
    const { at } = commands
    await at.connectGoogle()
    playStory(at.google, { token: 'token-1', isSandbox: true }).subscribe(Date.now() - DAY)
    const { run } = await place([['ada', 'token-1']])
    expect((await run('google', '--create-users')).notes).toContain('row 1: transaction is of the sandbox environment')
    expect(await owned()).toEqual([])
    expect((await run('google', '--create-users', '--sandbox')).out).toContain('1 rows: 1 attached')
    expect(await owned()).toEqual([])
  })
})

test('what is missing is reported before anything is read or asked', async () => {
  const { at } = commands
  const { run, path } = await place([['ada', '1']])
  const requestCount = at.apple.requests.length
  expect((await run('apple')).notes).toContain('has not set up Apple')
  await at.connectApple({ isConnected: false })
  expect((await run('apple')).notes).toContain('Apple cannot be asked: iap_key_identifier')
  await at.connectApple()
  const notes = async (...args: string[]) => (await call(command, ['import', ...args], commands.env)).notes
  const id = String(at.project.id)
  expect(await notes(id, 'amazon', path, ...MAP)).toBe('which store? apple, google, stripe, paddle')
  expect(await notes(id, 'apple', '/nonexistent.csv', ...MAP)).toContain('cannot be read')
  expect(await notes(id, 'apple', path)).toBe('--map is missing')
  expect(await notes(id, 'apple', ...MAP)).toBe('one file is needed: FILE.csv')
  expect(await notes(id, 'apple', path, '--map', 'user={rc_original_app_user_id}')).toBe(
    'the map lacks transaction: every pointer needs user, transaction',
  )
  expect(await notes(id, 'apple', path, ...MAP, '--map', 'price={price}')).toContain('a pointer has user, transaction')
  expect(await notes('4711', 'apple', path, ...MAP)).toBe('project 4711 not found')
  expect(at.apple.requests.length).toBe(requestCount)
})

describe('a store that gives no answer', () => {
  const later = (afterMs: number | null, why = 'http_500'): ClaimAnswer => ({ is: 'later', why, afterMs })
  async function attempts(answers: ClaimAnswer[], patience = 1000) {
    let now = 0
    const [waits, notes]: [number[], string[]] = [[], []]
    const requested = confirmPatiently(async () => answers.shift() ?? later(null), {
      store: 'Apple',
      signal: new AbortController().signal,
      onWait: line => notes.push(line),
      patience,
      clock: () => now,
      pause: async ms => {
        waits.push(ms)
        now += ms
      },
    })
    return { result: await requested.catch(error => error.message), waits, notes }
  }

  test('is asked again at growing intervals, then it stops', async () => {
    const { result, waits, notes } = await attempts([])
    expect(result).toBe('Apple has not answered for 1 s (http_500)')
    expect(waits).toEqual([250, 500])
    expect(notes).toEqual(['Apple does not answer (http_500): trying again for 1 s'])
  })

  test('is left alone for as long as it asks to, which is no failure', async () => {
    const { result, waits, notes } = await attempts([later(5000, 'http_429'), later(40, 'quota'), { is: 'unknown' }])
    expect(result).toEqual({ is: 'unknown' })
    expect(waits).toEqual([5000, 40])
    expect(notes).toEqual(['Apple asks to wait: 5 s'])
  })
})
