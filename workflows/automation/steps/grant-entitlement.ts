import { deadlineAfter } from '../../../domain/automation-runs/deadline.ts'
import { extendGrant } from '../../../domain/automation-runs/extend-grant.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { requireUser } from '../../../domain/users/user.ts'
import { wireTime } from '../../../store/connect.ts'
import { failed, type StepKinds, skipped, succeeded } from '../step-kind.ts'

export const grantEntitlement: StepKinds['grant_entitlement'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run, began }) {
    if (run.user_id === null) return skipped('no_user')
    const until = step.duration === null ? null : wireTime(deadlineAfter(began, step.duration))
    await requireUser(tx, run.environment, run.user_id)
    try {
      const expires_at = await extendGrant(tx, run.environment, run.user_id, step.entitlement_id, until)
      return succeeded({ entitlement_id: step.entitlement_id, expires_at })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.code === 'paid_entitlement') return skipped('paid_entitlement')
      if (error.code === 'not_found') return failed('entitlement_not_found')
      throw error
    }
  },
}
