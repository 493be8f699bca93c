import { Refusal } from '../../../domain/refusal.ts'
import { setProperties } from '../../../domain/users/properties.ts'
import { failed, type StepKinds, skipped, succeeded } from '../step-kind.ts'

export const setProperty: StepKinds['set_property'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run }) {
    if (run.user_id === null) return skipped('no_user')
    const { key, value } = step
    try {
      await setProperties(tx, run.environment, run.user_id, [{ key, value }])
      return succeeded({ key, value })
    } catch (error) {
      // Key and value were judged when the automation was written: what a user may still lack is room.
      if (error instanceof Refusal && error.code === 'invalid_data') return failed('property_limit_reached')
      throw error
    }
  },
}
