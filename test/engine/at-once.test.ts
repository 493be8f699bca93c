import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { connect, type Pool, type Tx } from '../../store/connect.ts'
import { classifyFailure } from '../../store/failures.ts'
import { atOnce, transaction } from '../../store/transaction.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { networkTo } from '../harness/silent-network.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query('create table notes (text text primary key)')
})
afterAll(() => database.drop())

describe.each([{ pipelined: false }, { pipelined: true }])('two statements at once, pipelined: $pipelined', ({ pipelined }) => {
  let pool: Pool
  beforeEach(async () => {
    await database.pool.query('truncate notes')
    // One connection: the next transaction gets it in the state that the last one left.
    pool = connect({ url: database.url, max: 1, pipelined })
  })
  afterEach(() => pool.end())

  const note = (tx: Tx, text: string) => tx.query({ name: 'note', text: 'insert into notes values ($1)', values: [text] })
  const notes = async () => (await database.pool.query('select text from notes order by text')).rows.map(({ text }) => text)
  const fail = (tx: Tx) => tx.query('select 1 / 0')
  const inOne = (first: (tx: Tx) => Promise<unknown>, second: (tx: Tx) => Promise<unknown>) =>
    transaction(pool, tx =>
      atOnce(
        tx,
        () => first(tx),
        () => second(tx),
      ),
    )
  const hasNoEffect = async () => {
    expect(await notes()).toEqual([])
    await inOne(
      tx => note(tx, 'a'),
      tx => note(tx, 'b'),
    )
    expect(await notes()).toEqual(['a', 'b'])
  }

  test('each get their own result', async () => {
    const fetchOne = (tx: Tx, n: number) => tx.query('select $1::int as n', [n]).then(({ rows }) => rows[0].n)
    expect(
      await inOne(
        tx => fetchOne(tx, 1),
        tx => fetchOne(tx, 2),
      ),
    ).toEqual([1, 2])
  })

  test('of which the first fails: its error is thrown, and the second has no effect', async () => {
    await expect(inOne(fail, tx => note(tx, 'second'))).rejects.toThrow('division by zero')
    await hasNoEffect()
  })

  test('of which the second fails, or the code around it: the first has no effect', async () => {
    await expect(inOne(tx => note(tx, 'first'), fail)).rejects.toThrow('division by zero')
    const failing = async (): Promise<void> => {
      throw new Error('not sent')
    }
    await expect(inOne(tx => note(tx, 'first'), failing)).rejects.toThrow('not sent')
    await expect(inOne(failing, tx => note(tx, 'second'))).rejects.toThrow('not sent')
    await hasNoEffect()
  })

  test('of which one goes on after the other has failed: it never runs in the next transaction', async () => {
    let goingOn: Promise<unknown> = Promise.resolve()
    const slowly = async (tx: Tx) => {
      for (let n = 0; n < 5; n++) await tx.query('select pg_sleep(0.02)').catch(() => undefined)
      await note(tx, 'stray')
    }
    const slow = (tx: Tx) => {
      goingOn = slowly(tx)
      return goingOn
    }
    await expect(inOne(slow, fail)).rejects.toThrow('division by zero')
    await Promise.allSettled([goingOn])
    await hasNoEffect()
  })

  test('that meet a deadlock are both executed again', async () => {
    let tries = 0
    const unlucky = (tx: Tx) =>
      ++tries < 3 ? tx.query(`do $$ begin raise exception 'again' using errcode = '40P01'; end $$`) : tx.query('select 1')
    await inOne(unlucky, tx => note(tx, 'once'))
    expect([tries, await notes()]).toEqual([3, ['once']])
  })

  test('whose connection is lost are both rolled back', async () => {
    const network = await networkTo(database.url)
    const over = connect({ url: network.url, max: 1, pipelined, silenceMs: 2_000 })
    await over.query('select 1')
    network.silence()
    const error = await transaction(over, tx =>
      atOnce(
        tx,
        () => note(tx, 'first'),
        () => note(tx, 'second'),
      ),
    ).catch(error => error)
    expect(classifyFailure(error)).toBe('unavailable')
    expect((await over.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    expect(await notes()).toEqual([])
    await over.end()
    await network.end()
  })
})
