import { describe, expect, test } from 'vitest'
import { LeaseLost } from '../../domain/durable/jobs/job.ts'
import { afterFailure, beginAttempt, nextWait, runEffect } from '../../workflows/engine/attempt.ts'
import { RetryAt, StopRetrying } from '../../workflows/engine/policy.ts'

const policy = { waits: [100, 200], attemptLimitMs: 1000 }
const idle = new AbortController().signal
const aborted = AbortSignal.abort()
const next = (error: unknown, attempts = 1, { lease = idle, halt = idle } = {}) =>
  afterFailure({ policy, attempts, error, signals: { lease, halt } })

describe('after a failed attempt', () => {
  test('the policy says when the next one follows, until its attempts are used up', () => {
    for (const [attempts, wait] of [
      [1, 100],
      [2, 200],
    ] as const) {
      const decision = next(new Error('no'), attempts)
      expect(decision).toEqual({ is: 'retry', afterSeconds: expect.any(Number) })
      expect(Math.abs((decision as { afterSeconds: number }).afterSeconds - wait)).toBeLessThanOrEqual(wait * 0.1)
    }
    expect(next(new Error('no'), 3)).toEqual({ is: 'failed', why: 'exhausted' })
  })

  test('the error may name the time or stop the repeats; a time that it names adds no attempt', () => {
    expect(next(new RetryAt('later', 7))).toEqual({ is: 'retry', afterSeconds: 7 })
    expect(next(new RetryAt('later', 7), 3)).toEqual({ is: 'failed', why: 'exhausted' })
    expect(next(new StopRetrying('never'))).toEqual({ is: 'failed', why: 'stopped' })
    expect([nextWait(policy, 1, 7), nextWait(policy, 3, 7)]).toEqual([7, null])
  })

  test('a lost lease comes before a stopping process, and both before what the error says', () => {
    expect(next(new LeaseLost('gone'), 3)).toEqual({ is: 'lost' })
    expect(next(new StopRetrying('never'), 1, { lease: aborted, halt: aborted })).toEqual({ is: 'lost' })
    expect(next(new StopRetrying('never'), 1, { halt: aborted })).toEqual({ is: 'interrupted' })
  })
})

describe('an effect', () => {
  test('that takes too long is aborted and known to be over time', async () => {
    const hang = (signal: AbortSignal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const ran = await runEffect(20, [idle], hang)
    expect(ran).toMatchObject({ is: 'thrown', isOvertime: true, error: new Error('took longer than 20 ms') })
    expect(ran.durationMs).toBeGreaterThanOrEqual(19)
  })

  test('ends with each of the signals, which is not over time', async () => {
    const end = new AbortController()
    const running = runEffect(
      60_000,
      [idle, end.signal],
      signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    )
    end.abort(new Error('halted'))
    expect(await running).toMatchObject({ is: 'thrown', isOvertime: false, error: new Error('halted') })
  })

  test('gives its result, and throws nothing where it fails at once', async () => {
    expect(await runEffect(1000, [], async () => 7)).toEqual({ is: 'done', result: 7, durationMs: expect.any(Number) })
    const broken = () => {
      throw new Error('at once')
    }
    expect(await runEffect(1000, [], broken)).toMatchObject({ is: 'thrown', isOvertime: false })
  })
})

test('attempts are numbered on from the earlier ones', () => {
  const earlier = { number: 1, started_at: '2026-01-01T00:00:00Z', duration_ms: 5, error: 'no' }
  expect(beginAttempt([earlier], '2026-01-01T00:01:00Z')('again')).toEqual([
    earlier,
    { number: 2, started_at: '2026-01-01T00:01:00Z', duration_ms: expect.any(Number), error: 'again' },
  ])
})
