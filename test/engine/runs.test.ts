import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StopRetrying } from '../../workflows/engine/policy.ts'
import type { RunContext } from '../../workflows/engine/workflow.ts'
import { claimByHand, dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
  await fixture.pool.query('create table effects (id bigint generated always as identity, subject text, what text)')
})
afterAll(() => fixture.drop())

const effects = async (subject: string) =>
  (await fixture.pool.query<{ what: string }>('select what from effects where subject = $1 order by id', [subject])).rows.map(
    row => row.what,
  )

describe('steps', () => {
  test('a run executes its steps once, in order, and records each result', async () => {
    const seen: unknown[] = []
    await fixture.work([
      workflow('orderly', async context => {
        const a = await context.step('a', async () => ({ n: 1 }))
        const b = await context.transact('b', async tx => {
          await tx.query('insert into effects (subject, what) values ($1, $2)', [context.subject, 'b'])
          return a.n + 1
        })
        seen.push(await context.step('c', async ({ key }) => `${key}:${b}`))
      }),
    ])
    const run = await fixture.begin('orderly', 's1')
    expect(await fixture.ended(run)).toEqual({ status: 'succeeded', reason: null })
    expect(seen).toEqual([`${run}:c:2`])
    expect(await effects('s1')).toEqual(['b'])
    expect(await fixture.steps(run)).toEqual([
      { name: 'a', status: 'succeeded', result: { n: 1 }, attempts: 1 },
      { name: 'b', status: 'succeeded', result: 2, attempts: 1 },
      { name: 'c', status: 'succeeded', result: `${run}:c:2`, attempts: 1 },
    ])
    expect((await fixture.pool.query('select 1 from due where id = $1', [run])).rowCount).toBe(0)
  })

  test('a failing step is retried with the same key; the steps before it are not executed again', async () => {
    const keys: string[] = []
    let firsts = 0
    await fixture.work([
      workflow('flaky', async context => {
        await context.step('first', async () => ++firsts)
        await context.step('second', async ({ key }) => {
          keys.push(key)
          if (keys.length < 4) throw new Error(`attempt ${keys.length}`)
        })
      }),
    ])
    const run = await fixture.begin('flaky', 's2')
    expect((await fixture.ended(run)).status).toBe('succeeded')
    expect([firsts, keys.length, new Set(keys).size]).toEqual([1, 4, 1])
    const { rows } = await fixture.pool.query(`select attempts from steps where run = $1 and name = 'second'`, [run])
    expect(rows[0].attempts.map((a: { number: number; error: string | null }) => [a.number, a.error])).toEqual([
      [1, 'attempt 1'],
      [2, 'attempt 2'],
      [3, 'attempt 3'],
      [4, null],
    ])
  })

  test('after the last attempt the run fails with the reason, and its subject fails in the same transaction', async () => {
    let attempts = 0
    await fixture.work([
      workflow(
        'hopeless',
        async context => {
          await context.step('never', async () => {
            attempts++
            throw new Error('no luck')
          })
        },
        {
          failed: async (tx, _environment, subject, error) => {
            await tx.query('insert into effects (subject, what) values ($1, $2)', [subject, (error as Error).message])
          },
        },
      ),
    ])
    const run = await fixture.begin('hopeless', 's3')
    expect(await fixture.ended(run)).toEqual({ status: 'failed', reason: 'no luck' })
    expect([attempts, await effects('s3')]).toEqual([5, ['no luck']])
  })

  test('StopRetrying fails the run at once', async () => {
    let attempts = 0
    await fixture.work([
      workflow('final', async context => {
        await context.step('never', async () => {
          attempts++
          throw new StopRetrying('gone')
        })
      }),
    ])
    expect(await fixture.ended(await fixture.begin('final', 's4'))).toEqual({ status: 'failed', reason: 'gone' })
    expect(attempts).toBe(1)
  })

  test('the effect of a failed transaction leaves nothing', async () => {
    let attempts = 0
    await fixture.work([
      workflow('atomic', async context => {
        await context.transact('write', async tx => {
          await tx.query('insert into effects (subject, what) values ($1, $2)', [context.subject, `try ${++attempts}`])
          if (attempts < 3) throw new Error('undo')
        })
      }),
    ])
    await fixture.ended(await fixture.begin('atomic', 's5'))
    expect(await effects('s5')).toEqual(['try 3'])
  })

  test('a definition that changed under a run is a loud failure, not a wrong step', async () => {
    let isChanged = false
    await fixture.work([
      workflow('shifting', async context => {
        await context.step(isChanged ? 'renamed' : 'original', async () => 1)
        await context.sleep('pause', 3600)
      }),
    ])
    const run = await fixture.begin('shifting', 's6')
    await until('the run sleeps', async () => ((await fixture.steps(run)).length === 2 ? true : undefined))
    isChanged = true
    await fixture.advance(3601)
    const { status, reason } = await fixture.ended(run)
    expect([status, reason]).toEqual(['failed', expect.stringContaining('"renamed"')])
  })

  test('a step that takes too long is aborted and retried', async () => {
    let attempts = 0
    await fixture.work(
      [
        workflow('slow', async context => {
          await context.step('wait', ({ signal }) =>
            ++attempts > 1
              ? Promise.resolve()
              : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          )
        }),
      ],
      { policies: { ...QUICK, step: { waits: [0.01], attemptLimitMs: 50 } } },
    )
    expect((await fixture.ended(await fixture.begin('slow', 's7'))).status).toBe('succeeded')
    expect(attempts).toBe(2)
  })
})

describe('sleep', () => {
  test('a durable sleep keeps its deadline over a restart and goes by the environment clock', async () => {
    const sleeper = workflow('sleeper', async context => {
      await context.sleep('night', 86_400)
      await context.transact('wake', tx =>
        tx.query('insert into effects (subject, what) values ($1, $2)', [context.subject, 'awake']).then(() => null),
      )
    })
    const first = await fixture.work([sleeper])
    const run = await fixture.begin('sleeper', 's8', { environment: fixture.otherEnvironment })
    await until('the run sleeps', async () => ((await fixture.steps(run))[0]?.status === 'waiting' ? true : undefined))
    await first.stop()
    const deadline = async () =>
      (await fixture.pool.query(`select due_at::text from steps where run = $1 and name = 'night'`, [run])).rows[0].due_at
    const before = await deadline()
    await fixture.work([sleeper])
    await fixture.advance(86_000, fixture.otherEnvironment)
    expect(await effects('s8')).toEqual([])
    await fixture.advance(401, fixture.otherEnvironment)
    await fixture.ended(run)
    expect([await effects('s8'), await deadline()]).toEqual([['awake'], before])
  })

  test('a run that is due later does not begin before', async () => {
    await fixture.work([workflow('later', async () => {})])
    const run = await fixture.begin('later', 's9', { afterSeconds: 1000 })
    expect(await claimByHand(fixture.pool, 'later', [run], 1000)).toEqual([])
    await fixture.advance(1001)
    expect((await fixture.ended(run)).status).toBe('succeeded')
  })
})

describe('leases', () => {
  test('heartbeats keep the lease of a long job: no other worker executes it', async () => {
    let executions = 0
    const end = Promise.withResolvers<void>()
    const work = async (context: RunContext) => {
      await context.step('work', async () => {
        executions++
        await end.promise
      })
    }
    // Enough capacity for the sweep to claim the run itself, with a lease of a second and not that of a batch.
    const long = workflow('long', work, { concurrency: 50 })
    await fixture.work([long], { leaseMs: 1_000 })
    await fixture.work([long], { leaseMs: 1_000 })
    const run = await fixture.begin('long', 's13')
    await until('the execution', () => executions === 1 || undefined)
    const first = await fixture.pool.query<{ lease: string }>('select lease_until::text as lease from due where id = $1', [run])
    await until('the end of the first lease', async () => {
      const { rows } = await fixture.pool.query<{ over: boolean }>('select clock_timestamp() > $1::timestamptz as over', [
        first.rows[0]!.lease,
      ])
      return rows[0]!.over || undefined
    })
    expect(await dispatchAll(fixture.pool, 1_000)).toEqual([])
    end.resolve()
    await fixture.ended(run)
    expect(executions).toBe(1)
  })

  test('a worker that stops lets the step under way finish and releases the run at once', async () => {
    let open = () => {}
    const gate = new Promise<void>(resolve => {
      open = resolve
    })
    const done: string[] = []
    const two = workflow('two', async context => {
      await context.step('one', async () => {
        done.push('one')
        await gate
      })
      await context.step('two', async () => done.push('two'))
    })
    const first = await fixture.work([two], { leaseMs: 60_000 })
    const run = await fixture.begin('two', 's14')
    await until('the first step runs', () => (done.length === 1 ? true : undefined))
    const stopping = first.stop()
    open()
    await stopping
    // Free, or in a batch already: another worker of this file may have dispatched it.
    const { rows } = await fixture.pool.query(
      'select lease_until is null or exists (select from batches where due.id = any (ids) and until = lease_until) as is_free from due where id = $1',
      [run],
    )
    expect([done, rows]).toEqual([['one'], [{ is_free: true }]])
    await fixture.work([two])
    await fixture.ended(run)
    expect(done).toEqual(['one', 'two'])
  })
})
