import { listPendingScreens, type PendingScreen } from '../../domain/growth/pending-screens/pending-screen.ts'
import { onUser } from './operation.ts'

const actionPoint = ({ id, screen_id, context_key, automation_id, run_id, created, expires, shown }: PendingScreen) => ({
  type: 'screen_view' as const,
  data: {
    id,
    screen: screen_id,
    ...(context_key && { context_key }),
    automation_id,
    run_id,
    created,
    expires,
    ...(shown !== null && { shown }),
  },
})

export const v3ListActionPoints = onUser('v3ListActionPoints', async ({ query, user, environment, db }) => {
  const screens = await listPendingScreens(db, environment, user.id, query.active === 1)
  return { data: { items: screens.map(actionPoint) } }
})
