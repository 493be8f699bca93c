import { deadlineAfter } from '../../../domain/automations/automation-runs/deadline.ts'
import { extendGrant } from '../../../domain/automations/automation-runs/extend-grant.ts'
import { storePendingScreen } from '../../../domain/growth/pending-screens/pending-screen.ts'
import { Refusal } from '../../../domain/kernel/refusal.ts'
import { setProperties } from '../../../domain/users/properties.ts'
import { lockUsers, requireUser } from '../../../domain/users/user.ts'
import { apiTime } from '../../../store/connect.ts'
import { failed, type StepKinds, skipped, succeeded } from '../step-kind.ts'

export const grantEntitlementStep: StepKinds['grant_entitlement'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run, began }) {
    if (run.user_id === null) return skipped('no_user')
    const until = step.duration === null ? null : apiTime(deadlineAfter(began, step.duration))
    await requireUser(tx, run.environment, run.user_id)
    try {
      const grant = { run: run.id, user: run.user_id, entitlement: step.entitlement_id, expiresAt: until }
      const expires_at = await extendGrant(tx, run.environment, grant)
      return succeeded({ entitlement_id: step.entitlement_id, expires_at })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.code === 'paid_entitlement') return skipped('paid_entitlement')
      if (error.code === 'not_found') return failed('entitlement_not_found')
      throw error
    }
  },
}

export const setPropertyStep: StepKinds['set_property'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run }) {
    if (run.user_id === null) return skipped('no_user')
    const { key, value } = step
    const { saved } = await setProperties(tx, run.environment, run.user_id, [{ key, value }])
    // Key and value were validated when the automation was written, so the user has too many properties.
    return saved.length > 0 ? succeeded({ key, value }) : failed('property_limit_reached')
  },
}

export const screenStep: StepKinds['screen'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run }) {
    if (run.user_id === null) return skipped('no_user')
    // An erasure locks the user, too: no screen is stored for a user who is being erased.
    await lockUsers(tx, run.environment, [run.user_id])
    try {
      return succeeded({ pending_screen_id: await storePendingScreen(tx, run, run.user_id, step.id, step.screen) })
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return failed('screen_not_found')
      throw error
    }
  },
}
