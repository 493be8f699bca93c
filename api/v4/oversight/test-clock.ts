import { lockClock, readClock, type TestClock } from '../../../domain/durable/clock/clock.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import type { Environment } from '../../../domain/kernel/environment.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { advanceClock, drainedSince, finalCounts, type Target, targetOf } from '../../../domain/oversight/reconciliation/advance-clock.ts'
import { beginReset } from '../../../domain/oversight/sandbox/reset.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { inTransaction, onPool, planned } from '../../operation.ts'

const shown = ({ now, offset_seconds, outstanding }: TestClock) => ({
  object: 'test_clock' as const,
  url: '/v4/test-clock' as const,
  now,
  offset_seconds,
  outstanding,
})

export const v4GetTestClock = onPool('v4GetTestClock', async ({ environment, db }) => {
  const clock = await readClock(db, environment)
  return { body: { ...shown(clock), resetting: clock.resetting } }
})

export const v4ResetTestClock = inTransaction('v4ResetTestClock', async ({ environment, trail, tx }) => {
  const before = shown(await readClock(tx, environment))
  await beginReset(tx, environment)
  await audit(tx, trail, { resource: 'test_clock', id: null, before, after: { reset: true } })
  return { body: { object: 'operation' as const, url: '/v4/test-clock' as const, message: 'Reset queued' as const } }
})

type Advance = Pick<Input<'v4AdvanceTestClock'>, 'body'> & { environment: Environment; tx: Tx }

/** The instant that is asked for, with the clock locked. */
async function lockedTarget({ body: { by, to }, environment, tx }: Advance): Promise<string> {
  if ((by === undefined) === (to === undefined)) throw invalidField('body', 'must have exactly one of by and to')
  await lockClock(tx, environment)
  return targetOf(tx, environment, (by === undefined ? { to } : { by }) as Target)
}

const advanced = (before: TestClock, target: string) => ({
  resource: 'test_clock',
  id: null,
  before: shown(before),
  after: { target: new Date(target).toISOString() },
})

// The transaction keeps the lock and the Idempotency-Key. Each step of the advance commits on another connection, so it stays done even
// if the operation fails.
export const v4AdvanceTestClock = planned(
  inTransaction('v4AdvanceTestClock', async ({ body, environment, trail, deps, tx }) => {
    const target = await lockedTarget({ body, environment, tx })
    const pool = deps.stepping
    const [before, counted] = [await readClock(pool, environment), await finalCounts(pool, environment)]
    // In a transaction of its own, before the clock advances: an advance that exceeds its time limit has advanced the clock, too.
    await transaction(pool, own => audit(own, trail, advanced(before, target)))
    await advanceClock(environment, target, { pool, beat: () => tx.query('select 1'), days: deps.retention })
    const drained = drainedSince(counted, await finalCounts(pool, environment))
    return { body: { ...shown(await readClock(pool, environment)), drained } }
  }),
  async call => {
    const target = await lockedTarget(call)
    await audit(call.tx, call.trail, advanced(await readClock(call.tx, call.environment), target))
  },
)
