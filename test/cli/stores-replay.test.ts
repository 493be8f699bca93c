import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { userOf } from '../harness/purchases.ts'
import { inboxOf } from '../harness/store-inbox.ts'
import { appleSubscription, MONTHLY } from '../harness/stores/apple-subscription.ts'
import { playStory } from '../harness/stores/google-story.ts'
import { type StoreCommands, startStoreCommands } from './stores.ts'

const DAY = 86_400_000
let commands: StoreCommands
beforeAll(async () => {
  commands = await startStoreCommands()
})
afterAll(() => commands.stop())
beforeEach(() => commands.at.begin())

const rows = () => inboxOf(commands.at.api.pool, commands.at.project.id)
const setAside = () =>
  commands.at.api.pool.query(`update store_inbox set state = 'set_aside', attempts = 5, reason = 'bad' where project = $1`, [
    commands.at.project.id,
  ])
const events = async () =>
  (
    await commands.at.api.pool.query('select id, name, event_id from events where environment = $1 order by id', [
      commands.at.project.production,
    ])
  ).rows
const purchases = async () =>
  (
    await commands.at.api.pool.query('select id, user_id, price, refunded_amount, auto_renewing from purchases where environment = $1', [
      commands.at.project.production,
    ])
  ).rows
const lineage = async () =>
  (
    await commands.at.api.pool.query('select id, lineage as name, user_id from lineages where environment = $1 order by id', [
      commands.at.project.production,
    ])
  ).rows

/** A subscription of a user that Google has pushed, bought and then cancelled. */
async function playSubscription(token = 'token-1') {
  const { at } = commands
  await at.connectGoogle()
  const user = await userOf(at.api, at.project.secret)
  const story = playStory(at.google, { token, accountId: user, order: `GPA.1111-2222-3333-${token.slice(-1).repeat(5)}` })
  expect(await at.pushGoogle(story.subscribe(Date.now() - DAY).body)).toBe(200)
  expect(await at.pushGoogle(story.cancel(Date.now() - 1000).body)).toBe(200)
  await at.settled()
  return { user, story }
}

describe('a replay', () => {
  test('of what is done, by number and by the id of the store, reads again and tells nothing twice', async () => {
    await playSubscription()
    const [before, emittedEvents] = [await purchases(), await events()]
    expect(emittedEvents.map(({ name }) => name)).toContain('subscription_canceled')
    const [first, second] = await rows()
    const requestCount = commands.at.google.calls().length
    const result = await commands.run('replay', commands.at.project.id, first!.id, second!.notification_id)
    expect(result).toEqual({ code: 0, out: '2 notifications are pending again: a worker reads them now.', notes: '' })
    await commands.at.settled()
    expect((await rows()).map(({ state }) => state)).toEqual(['done', 'done'])
    expect(commands.at.google.calls().length).toBeGreaterThan(requestCount)
    expect([await purchases(), await events()]).toEqual([before, emittedEvents])
  })

  test('of what was set aside begins without attempts and without a reason', async () => {
    await playSubscription()
    await setAside()
    const emittedEvents = await events()
    expect((await commands.run('replay', commands.at.project.id, '--set-aside')).out).toContain('2 notifications are pending again')
    await commands.at.settled()
    expect((await rows()).map(({ state, attempts, reason }) => ({ state, attempts, reason }))).toEqual(
      [1, 2].map(() => ({ state: 'done', attempts: 0, reason: null })),
    )
    expect(await events()).toEqual(emittedEvents)
    expect((await commands.run('replay', commands.at.project.id, '--set-aside')).out).toBe('0 notifications are pending again.')
  })

  test('of a lineage, by its number or its name, leaves the others alone', async () => {
    await playSubscription('token-1')
    await playSubscription('token-2')
    const [one, two] = await lineage()
    await setAside()
    expect((await commands.run('replay', commands.at.project.id, '--lineage', one.name)).out).toContain('2 notifications')
    await commands.at.settled()
    expect((await rows()).map(({ state }) => state)).toEqual(['done', 'done', 'set_aside', 'set_aside'])
    expect((await commands.run('replay', commands.at.project.id, '--lineage', two.id)).out).toContain('2 notifications')
    await commands.at.settled()
    expect((await rows()).map(({ state }) => state)).toEqual(['done', 'done', 'done', 'done'])
  })

  test('names what it cannot read again, and reads the rest', async () => {
    await playSubscription()
    const [first, second] = await rows()
    await commands.at.api.pool.query(`update store_inbox set state = 'ignored' where id = $1`, [first!.id])
    const result = await commands.run('replay', commands.at.project.id, first!.id, second!.id, 'nobody')
    expect(result.code).toBe(2)
    expect(result.out).toContain('1 notification is pending again')
    expect(result.notes).toBe(`${first!.id}: is of no interest: there is nothing to read in it\nnobody: no such notification is recorded`)
  })

  test("does not reach another project's notifications", async () => {
    await playSubscription()
    const [row] = await rows()
    const other = await commands.at.api.newProject()
    const result = await commands.run('replay', other.id, row!.id, row!.notification_id)
    expect(result).toMatchObject({ code: 2, out: '0 notifications are pending again.' })
    expect((await commands.run('replay', other.id, '--lineage', 'token-1')).notes).toBe(`project ${other.id} has no lineage token-1`)
  })

  test('wants one way to say what', async () => {
    const { id } = commands.at.project
    for (const args of [[id], [id, '7', '--set-aside'], [id, '--set-aside', '--lineage', 'x']])
      expect((await commands.run('replay', ...args)).notes).toBe('stores replay PROJECT ID …, --set-aside or --lineage LINEAGE?')
    expect((await commands.run('replay', 4711, '--set-aside')).notes).toBe('project 4711 not found')
  })
})

describe('a transfer', () => {
  test('moves a lineage with its purchases, and the audit log names both users', async () => {
    const { at } = commands
    const { user } = await playSubscription()
    const [one] = await lineage()
    const to = await userOf(at.api, at.project.secret)
    const result = await commands.run('transfer', at.project.id, one.name, '--to', to)
    expect(result).toEqual({ code: 0, out: `Lineage ${one.id} (token-1) belongs to ${to} now, and no longer to ${user}.`, notes: '' })
    expect((await purchases()).map(({ user_id }) => user_id)).toEqual([to])
    const audited = async () => (await at.good('GET', '/v4/audit-log?filter[resource][]=lineage')).data
    expect(await audited()).toMatchObject([
      {
        operation: 'stores transfer',
        resource: 'lineage',
        resource_id: String(one.id),
        actor: { kind: 'cli' },
        before: { user_id: user },
        after: { user_id: to },
      },
    ])
    expect((await commands.run('transfer', at.project.id, one.id, '--to', to)).out).toBe(
      `Lineage ${one.id} (token-1) belongs to ${to} already.`,
    )
    expect(await audited()).toHaveLength(1)
    expect((await commands.run('transfer', at.project.id, one.id, '--to', user)).out).toContain(`belongs to ${user} now`)
    expect((await lineage())[0].user_id).toBe(user)
  })

  test('gives a lineage that nobody owns to a user, and tells its events', async () => {
    const { at } = commands
    await at.connectApple()
    const subscription = appleSubscription(at.chain)
    await at.pushApple(subscription.subscribe(Date.now() - DAY))
    await at.settled()
    expect(await events()).toEqual([])
    const to = await userOf(at.api, at.project.secret)
    expect((await commands.run('transfer', at.project.id, subscription.lineage, '--to', to)).out).toMatch(
      new RegExp(`^Lineage \\d+ \\(${subscription.lineage}\\) belongs to ${to} now\\.$`),
    )
    expect((await events()).map(({ name }) => name)).toContain('subscription_started')
    expect((await commands.run('status', at.project.id, '--lineage', subscription.lineage)).out).toContain(MONTHLY)
  })

  test('of an erased customer leaves no id of the former owner in the audit log', async () => {
    const { at } = commands
    const { user } = await playSubscription()
    const [one] = await lineage()
    const to = await userOf(at.api, at.project.secret)
    await commands.run('transfer', at.project.id, one.id, '--to', to)
    await at.good('DELETE', `/v4/customers/${user}`)
    expect(JSON.stringify(await at.good('GET', '/v4/audit-log'))).not.toContain(user)
  })

  test('of an unknown lineage, to an unknown user, or in the other environment changes nothing', async () => {
    const { at } = commands
    const { user } = await playSubscription()
    const [one] = await lineage()
    const { id } = at.project
    const notes = async (...args: (string | number)[]) => (await commands.run('transfer', ...args)).notes
    expect(await notes(id, 'nothing', '--to', user)).toBe(`project ${id} has no lineage nothing in production`)
    expect(await notes(id, one.id, '--to', user, '--sandbox')).toBe(`project ${id} has no lineage ${one.id} in sandbox`)
    expect(await notes(id, one.id, '--to', 'QON_nobody')).toBe('user not found')
    expect(await notes(id, one.id)).toContain('--to USER is missing')
    expect(await notes(id)).toContain('which lineage?')
    expect(await notes(4711, one.id, '--to', user)).toBe('project 4711 not found')
    expect((await lineage())[0].user_id).toBe(user)
  })

  test('by a number that is also the name of another lineage is refused', async () => {
    const { at } = commands
    await playSubscription()
    const [one] = await lineage()
    await at.api.pool.query(`insert into lineages (environment, platform, lineage) values ($1, 'app_store', $2)`, [
      at.project.production,
      String(one.id),
    ])
    const to = await userOf(at.api, at.project.secret)
    const result = await commands.run('transfer', at.project.id, one.id, '--to', to)
    expect(result.code).toBe(1)
    expect(result.notes).toContain('give the other one of number and name')
    expect((await commands.run('transfer', at.project.id, one.name, '--to', to)).code).toBe(0)
  })
})
