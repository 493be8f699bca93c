import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { liveStream } from './live/stream.ts'
import { inSession } from './operation.ts'
import { sessionOwnerAt } from './owner.ts'

export const consoleWatch = inSession('consoleWatch', async ({ path: { project, environment }, query, who, checks, live, stream }) => {
  const owner = await sessionOwnerAt(checks, who, Number(project), environment as EnvironmentKind)
  stream(liveStream(live, owner, query.topics))
})
