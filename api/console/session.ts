import { LIVE_TOPICS } from '../../domain/durable/live.ts'
import { isZone, NO_ZONE } from '../../domain/kernel/time/local-time.ts'
import { changePreferences, type Preferences, preferencesOf } from '../../domain/operators/preferences.ts'
import { endSession, type Operator } from '../../domain/operators/session.ts'
import { projectsOf } from '../../domain/operators/session-owner.ts'
import { version } from '../../schemas/version.ts'
import { invalidData } from '../errors.ts'
import { type ConsoleCaller, inSession } from './operation.ts'

/** As long as a password or a code counts for what is sensitive. */
const RECENT_SECONDS = 600

const VERSION = version()

const seconds = (time: string): number => Math.floor(Date.parse(time) / 1000)

const shown = ({ id, email, name, isOwner }: Operator, preferences: Preferences) => ({
  id,
  email,
  name,
  is_owner: isOwner,
  preferences,
})

/** What the pages know of the person before them. It is also written into the frame of the pages, which need not ask for it then. */
export async function shownSession({ who, checks, build }: Pick<ConsoleCaller, 'who' | 'checks' | 'build'>) {
  const { operator, isRecent, authenticatedAt, idleUntil } = who
  const [preferences, projects] = await Promise.all([preferencesOf(checks, operator.id), projectsOf(checks, operator.id)])
  return {
    operator: shown(operator, preferences),
    projects: projects.map(({ id, ...project }) => ({ id: String(id), ...project })),
    again_until: isRecent && authenticatedAt !== null ? seconds(authenticatedAt) + RECENT_SECONDS : null,
    idle_until: seconds(idleUntil),
    version: VERSION,
    live: { topics: [...LIVE_TOPICS] },
    console: { build: await build() },
  }
}

export const consoleGetSession = inSession('consoleGetSession', shownSession)

export const consoleEndSession = inSession('consoleEndSession', async ({ who, pool, removeCookie }) => {
  await endSession(pool, who.operator.id, who.session)
  removeCookie()
})

export const consoleUpdateMe = inSession('consoleUpdateMe', async ({ who, pool, body: { preferences: change } }) => {
  if (typeof change.zone === 'string' && !isZone(change.zone)) throw invalidData([{ field: 'preferences.zone', message: NO_ZONE }])
  return shown(who.operator, await changePreferences(pool, who.operator.id, change))
})
