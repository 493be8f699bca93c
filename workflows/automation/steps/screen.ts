import { storePendingScreen } from '../../../domain/pending-screens/pending-screen.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { lockUsers } from '../../../domain/users/user.ts'
import { failed, type StepKinds, skipped, succeeded } from '../step-kind.ts'

export const screen: StepKinds['screen'] = {
  by: 'transaction',
  effect: true,
  async transact(tx, { step, run }) {
    if (run.user_id === null) return skipped('no_user')
    // An erasure holds the user too: nothing is stored for one who is going.
    await lockUsers(tx, run.environment, [run.user_id])
    try {
      return succeeded({ pending_screen_id: await storePendingScreen(tx, run, run.user_id, step.id, step.screen) })
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return failed('screen_not_found')
      throw error
    }
  },
}
