import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RetryAt, StopRetrying } from '../../workflows/engine/policy.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

type Failure = { attempts: number; isLast: boolean }

describe('a step', () => {
  test('is retried by the policy it names, and calls `failing` in the transaction of each failed attempt', async () => {
    const failures: Failure[] = []
    let took: number | undefined
    let calls = 0
    await fixture.work(
      [
        workflow('failing', async context => {
          await context.step(
            'send',
            () => {
              if (++calls < 7) throw new Error('not yet')
              return Promise.resolve()
            },
            {
              policy: 'delivery',
              failing: async (_tx, { attempts, isLast }) => void failures.push({ attempts, isLast }),
              record: async (_tx, _result, attempts) => {
                took = attempts
              },
            },
          )
        }),
      ],
      { policies: { ...QUICK, step: { waits: [], attemptLimitMs: 1000 } } },
    )
    expect((await fixture.ended(await fixture.begin('failing', 's1'))).status).toBe('succeeded')
    expect(failures).toEqual([1, 2, 3, 4, 5, 6].map(attempts => ({ attempts, isLast: false })))
    expect(took).toBe(7)
  })

  test('says that it has failed for good, after the last attempt or when no retry would help', async () => {
    const failures: Record<string, Failure[]> = {}
    await fixture.work([
      workflow('hopeless', async ({ subject, step }) => {
        await step('send', () => Promise.reject(subject === 'stop' ? new StopRetrying('never') : new Error('again')), {
          policy: 'delivery',
          failing: async (_tx, { attempts, isLast }) => {
            failures[subject] = [...(failures[subject] ?? []), { attempts, isLast }]
          },
        })
      }),
    ])
    expect((await fixture.ended(await fixture.begin('hopeless', 'stop'))).status).toBe('failed')
    expect((await fixture.ended(await fixture.begin('hopeless', 'long'))).status).toBe('failed')
    expect(failures.stop).toEqual([{ attempts: 1, isLast: true }])
    expect(failures.long?.map(({ isLast }) => isLast)).toEqual([false, false, false, false, false, false, true])
  })

  test.each([
    ['a NUL', 'said\0 nothing'],
    ['half of a surrogate pair where it is cut', `${'x'.repeat(999)}\u{1f600} is cut in two`],
  ])('that fails with %s in its message has used up an attempt all the same', async (what, message) => {
    let calls = 0
    const kind = `odd-${what.length}`
    await fixture.work([
      workflow(kind, async context => {
        await context.step('send', () => {
          calls++
          return Promise.reject(new StopRetrying(message))
        })
      }),
    ])
    const { status, reason } = await fixture.ended(await fixture.begin(kind, 's'))
    expect([status, calls]).toEqual(['failed', 1])
    expect(reason).toMatch(/^(said nothing|x{999})/)
  })

  test.each([
    [3600, 3600],
    [0, 1],
    [1_000_000, 86_400],
  ])('whose receiver asks for a retry in %i s waits for %i s, whatever its policy says', async (requested, waits) => {
    const kind = `retry-at-${requested}`
    await fixture.work([
      workflow(kind, async context => {
        await context.step('send', () => Promise.reject(new RetryAt('later', requested)))
      }),
    ])
    const run = await fixture.begin(kind, 's')
    const ahead = await until('the next attempt', async () => {
      const { rows } = await fixture.pool.query<{ ahead: number }>(
        `select extract(epoch from d.due_at - (s.attempts -> 0 ->> 'started_at')::timestamptz)::float8 as ahead
         from due d join steps s on s.run = d.id where d.kind = $1 and d.id = $2 and d.lease_until is null and jsonb_array_length(s.attempts) = 1`,
        [kind, run],
      )
      return rows[0]?.ahead
    })
    // The start of the attempt is stored in whole seconds.
    expect(ahead - waits).toBeGreaterThanOrEqual(0)
    expect(ahead - waits).toBeLessThan(5)
  })
})
