import { dropOldGenerations } from '../domain/analytics/facts/retention.ts'
import { rebuildFacts } from '../domain/analytics/folding/rebuild.ts'
import { listEnvironments, type ProjectEnvironment } from '../domain/projects/environments.ts'
import type { Pool } from '../store/connect.ts'
import { projectId } from './arguments.ts'
import type { CommandContext } from './command.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition } from './definition.ts'
import { CliError } from './failure.ts'
import { counted } from './import/progress.ts'
import { commandOf } from './program.ts'

/** Rows of facts that one statement removes. */
const BATCH = 10_000
/** Between two lines of progress. */
const REPORT_EVERY_MS = 5_000

/** Rebuilds the facts of one environment. False: the facts that were read before differed from the rebuilt ones. */
async function rebuildOne(
  pool: Pool,
  { id, kind, project, name }: ProjectEnvironment,
  { signal, out, note }: CommandContext,
): Promise<boolean> {
  const label = `project ${project} (${name}), ${kind}`
  let reportedAt = performance.now()
  const onProgress = (users: number) => {
    if (performance.now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = performance.now()
    note(`${label}: ${counted(users)} customers so far`)
  }
  const rebuilt = await rebuildFacts(pool, id, { isStopping: () => signal.aborted, onProgress })
  switch (rebuilt.is) {
    case 'taken':
      throw new CliError(`${label}: another process is rebuilding these facts`)
    case 'stopped':
      throw new CliError(`${label}: stopped; the next rebuild goes on from there`)
    case 'done':
      for (const { table, former, rebuilt: now, users } of rebuilt.differences)
        out(`${label}: ${table}: ${counted(former)} rows differed from ${counted(now)} rebuilt ones; customers ${users.join(', ')}`)
      out(
        `${label}: the facts of ${counted(rebuilt.users)} customers are rebuilt${rebuilt.differences.length === 0 ? ', and equal to those before' : ''}.`,
      )
      return rebuilt.differences.length === 0
    default:
      return rebuilt satisfies never
  }
}

/** Computes the facts of figures anew, beside those that are read, and lets readers see them. */
const rebuildAction = action({
  name: 'rebuild',
  summary: 'compute the facts of figures anew, beside those that are read, compare both and change over',
  arguments: [{ name: 'PROJECT', says: 'only this project, see "project list"', isOptional: true }],
  exits: '0 the facts are as they were, 1 failed, 2 they differed',
  examples: ['analytics rebuild', 'analytics rebuild 1'],
  async run({ args: [given] }, context) {
    const project = given === undefined ? null : projectId(given)
    return withDatabase(context, async pool => {
      const environments = await listEnvironments(pool, project)
      if (environments.length === 0) throw new CliError(project === null ? 'there is no project' : `there is no project ${project}`)
      let areEqual = true
      for (const environment of environments) areEqual = (await rebuildOne(pool, environment, context)) && areEqual
      while (!context.signal.aborted && (await dropOldGenerations(pool, BATCH)) > 0);
      return areEqual ? 0 : 2
    })
  },
})

export const analyticsGroup: GroupDefinition = {
  name: 'analytics',
  summary: 'the facts that charts are made of',
  commands: [rebuildAction],
}

export const analytics = commandOf(analyticsGroup)
