import { setTimeout as delay } from 'node:timers/promises'
import { audit } from '../domain/kernel/audit/record.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import { beginReset, isResetting, resetMore } from '../domain/oversight/sandbox/reset.ts'
import { listEnvironments } from '../domain/projects/environments.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import { PROJECT, projectId } from './arguments.ts'
import { actorOf, type CommandContext } from './command.ts'
import { withDatabase } from './database.ts'
import { action, type GroupDefinition } from './definition.ts'
import { CliError } from './failure.ts'
import { commandOf } from './program.ts'

/** A worker may be at it, too: then this only waits for it. */
const POLL_MS = 200

/** Empties the sandbox of a project. A service need not run; what is interrupted, its workers continue. */
async function reset(pool: Pool, project: number, { env, signal }: CommandContext): Promise<void> {
  const environments = await listEnvironments(pool, project)
  const sandbox = environments.find(({ kind }) => kind === 'sandbox')
  if (!sandbox) throw new CliError(`project ${project} not found`)
  const trail = { project, environment: sandbox.id, actor: actorOf(env), operation: 'sandbox reset', requestId: null }
  await transaction(pool, async tx => {
    await beginReset(tx, sandbox.id)
    await audit(tx, trail, { resource: 'test_clock', id: null, after: { reset: true } })
  }).catch(error => {
    throw error instanceof Refusal ? new CliError(error.message) : error
  })
  while (await isResetting(pool, sandbox.id)) {
    if (signal.aborted) throw new CliError('stopped: the workers of the service continue')
    await resetMore(pool, sandbox.id)
    if (await isResetting(pool, sandbox.id)) await delay(POLL_MS)
  }
}

const resetAction = action({
  name: 'reset',
  summary: 'empty the sandbox of a project, and set its clock to real time',
  arguments: [PROJECT],
  details: 'Users, purchases, events, runs, deliveries and files of the sandbox go; its configuration, the keys and the audit log stay.',
  examples: ['sandbox reset 1'],
  async run({ args: [given] }, context) {
    const id = projectId(given)
    await withDatabase(context, pool => reset(pool, id, context))
    context.out(`The sandbox of project ${id} is empty, and its clock shows real time.`)
    return 0
  },
})

export const sandboxGroup: GroupDefinition = {
  name: 'sandbox',
  summary: 'the sandboxes of projects',
  commands: [resetAction],
}

export const sandbox = commandOf(sandboxGroup)
