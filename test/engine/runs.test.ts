import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StopRetrying } from '../../workflows/engine/policy.ts'
import { claimByHand } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let bench: EngineFixture
beforeAll(async () => {
  bench = await engineFixture()
  await bench.pool.query('create table effects (id bigint generated always as identity, subject text, what text)')
})
afterAll(() => bench.drop())

const effects = async (subject: string) =>
  (await bench.pool.query<{ what: string }>('select what from effects where subject = $1 order by id', [subject])).rows.map(row => row.what)

describe('steps', () => {
  test('a run does its steps once, in order, and each result is recorded', async () => {
    const seen: unknown[] = []
    await bench.work([
      workflow('orderly', async context => {
        const a = await context.step('a', async () => ({ n: 1 }))
        const b = await context.transact('b', async tx => {
          await tx.query('insert into effects (subject, what) values ($1, $2)', [context.subject, 'b'])
          return a.n + 1
        })
        seen.push(await context.step('c', async ({ key }) => `${key}:${b}`))
      }),
    ])
    const run = await bench.begin('orderly', 's1')
    expect(await bench.ended(run)).toEqual({ status: 'succeeded', reason: null })
    expect(seen).toEqual([`${run}:c:2`])
    expect(await effects('s1')).toEqual(['b'])
    expect(await bench.steps(run)).toEqual([
      { name: 'a', status: 'succeeded', result: { n: 1 }, attempts: 1 },
      { name: 'b', status: 'succeeded', result: 2, attempts: 1 },
      { name: 'c', status: 'succeeded', result: `${run}:c:2`, attempts: 1 },
    ])
    expect((await bench.pool.query('select 1 from due where id = $1', [run])).rowCount).toBe(0)
  })

  test('a failing step is retried with the same key; the steps before it are not done again', async () => {
    const keys: string[] = []
    let firsts = 0
    await bench.work([
      workflow('flaky', async context => {
        await context.step('first', async () => ++firsts)
        await context.step('second', async ({ key }) => {
          keys.push(key)
          if (keys.length < 4) throw new Error(`attempt ${keys.length}`)
        })
      }),
    ])
    const run = await bench.begin('flaky', 's2')
    expect((await bench.ended(run)).status).toBe('succeeded')
    expect([firsts, keys.length, new Set(keys).size]).toEqual([1, 4, 1])
    const { rows } = await bench.pool.query(`select attempts from steps where run = $1 and name = 'second'`, [run])
    expect(rows[0].attempts.map((a: { number: number; error: string | null }) => [a.number, a.error])).toEqual([
      [1, 'attempt 1'],
      [2, 'attempt 2'],
      [3, 'attempt 3'],
      [4, null],
    ])
  })

  test('after the last attempt the run fails, with the reason, and says so on its subject in the same transaction', async () => {
    let attempts = 0
    await bench.work([
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
    const run = await bench.begin('hopeless', 's3')
    expect(await bench.ended(run)).toEqual({ status: 'failed', reason: 'no luck' })
    expect([attempts, await effects('s3')]).toEqual([5, ['no luck']])
  })

  test('StopRetrying ends it at once', async () => {
    let attempts = 0
    await bench.work([
      workflow('final', async context => {
        await context.step('never', async () => {
          attempts++
          throw new StopRetrying('gone')
        })
      }),
    ])
    expect(await bench.ended(await bench.begin('final', 's4'))).toEqual({ status: 'failed', reason: 'gone' })
    expect(attempts).toBe(1)
  })

  test('the effect of a failed transaction leaves nothing', async () => {
    let attempts = 0
    await bench.work([
      workflow('atomic', async context => {
        await context.transact('write', async tx => {
          await tx.query('insert into effects (subject, what) values ($1, $2)', [context.subject, `try ${++attempts}`])
          if (attempts < 3) throw new Error('undo')
        })
      }),
    ])
    await bench.ended(await bench.begin('atomic', 's5'))
    expect(await effects('s5')).toEqual(['try 3'])
  })

  test('a definition that changed under a run is a loud failure, not a wrong step', async () => {
    let isChanged = false
    await bench.work([
      workflow('shifting', async context => {
        await context.step(isChanged ? 'renamed' : 'original', async () => 1)
        await context.sleep('pause', 3600)
      }),
    ])
    const run = await bench.begin('shifting', 's6')
    await until('the run sleeps', async () => ((await bench.steps(run)).length === 2 ? true : undefined))
    isChanged = true
    await bench.advance(3601)
    const { status, reason } = await bench.ended(run)
    expect([status, reason]).toEqual(['failed', expect.stringContaining('"renamed"')])
  })

  test('a step that takes too long is aborted and retried', async () => {
    let attempts = 0
    await bench.work(
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
    expect((await bench.ended(await bench.begin('slow', 's7'))).status).toBe('succeeded')
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
    const first = await bench.work([sleeper])
    const run = await bench.begin('sleeper', 's8', { environment: bench.otherEnvironment })
    await until('the run sleeps', async () => ((await bench.steps(run))[0]?.status === 'waiting' ? true : undefined))
    await first.stop()
    const deadline = async () =>
      (await bench.pool.query(`select due_at::text from steps where run = $1 and name = 'night'`, [run])).rows[0].due_at
    const before = await deadline()
    await bench.work([sleeper])
    await bench.advance(86_000, bench.otherEnvironment)
    expect(await effects('s8')).toEqual([])
    await bench.advance(401, bench.otherEnvironment)
    await bench.ended(run)
    expect([await effects('s8'), await deadline()]).toEqual([['awake'], before])
  })

  test('a run promised for later does not begin before', async () => {
    await bench.work([workflow('later', async () => {})])
    const run = await bench.begin('later', 's9', { afterSeconds: 1000 })
    expect(await claimByHand(bench.pool, 'later', [run], 1000)).toEqual([])
    await bench.advance(1001)
    expect((await bench.ended(run)).status).toBe('succeeded')
  })
})

describe('leases', () => {
  test('long work keeps its lease by heartbeat: nobody else does it', async () => {
    let executions = 0
    const long = workflow('long', async context => {
      await context.step('work', async () => {
        executions++
        await new Promise(resolve => setTimeout(resolve, 3_000))
      })
    })
    await bench.work([long], { leaseMs: 1_000 })
    await bench.work([long], { leaseMs: 1_000 })
    await bench.ended(await bench.begin('long', 's13'))
    expect(executions).toBe(1)
  })

  test('a worker that stops lets the step under way finish and gives the rest back at once', async () => {
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
    const first = await bench.work([two], { leaseMs: 60_000 })
    const run = await bench.begin('two', 's14')
    await until('the first step runs', () => (done.length === 1 ? true : undefined))
    const stopping = first.stop()
    open()
    await stopping
    // Free, or in a ring already: of the other workers here one may have rung it.
    const { rows } = await bench.pool.query(
      'select lease_until is null or exists (select from batches where due.id = any (ids) and until = lease_until) as is_free from due where id = $1',
      [run],
    )
    expect([done, rows]).toEqual([['one'], [{ is_free: true }]])
    await bench.work([two])
    await bench.ended(run)
    expect(done).toEqual(['one', 'two'])
  })
})
