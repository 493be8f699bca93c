// When users began, as the service is to tell it: what is recorded as history moves a user back to its first time, until something shows the user live.
import { heard, type Statement } from './heard.ts'
import { HOUR, type Instant, type User } from './history.ts'

/** `isSeen`: an app had shown the user before anything was stated. */
export type Comer = User & { isSeen: boolean }

/** What was taken in one request counts at once: its history first, whatever the order. */
export type Taken = { statement: Statement; heardAt: Instant; request: number }

type StatedTime = { user: string; at: Instant; isHistory: boolean }

/** What a statement says about when its user was there. Nothing was stated by an update, nor of the user by what somebody else pays for. */
function reportedBy({ statement, heardAt }: Taken): StatedTime[] {
  if (statement.is === 'update') return []
  const [arrival] = heard([{ statement, heardAt }])
  const at = arrival!.is === 'event' ? arrival!.happenedAt : arrival!.purchasedAt
  const isHistory = heardAt - at > 72 * HOUR
  if (arrival!.is === 'purchase' && arrival!.isFamilyShared && isHistory) return []
  return [{ user: arrival!.user, at, isHistory }]
}

export function begun(comers: readonly Comer[], taken: readonly Taken[]): User[] {
  const requests = [...Map.groupBy(taken, ({ request }) => request).values()]
  return comers.map(({ id, createdAt, isSeen }) => {
    let [began, live] = [createdAt, isSeen]
    for (const request of requests) {
      const stated = request.flatMap(reportedBy).filter(({ user }) => user === id)
      for (const { at, isHistory } of stated) if (isHistory && !live) began = Math.min(began, at)
      if (stated.some(({ isHistory }) => !isHistory)) live = true
    }
    return { id, createdAt: began }
  })
}
