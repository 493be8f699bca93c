import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { readConfig } from '../../app/config.ts'
import { audit } from '../../domain/audit/record.ts'
import { listEnvironments } from '../../domain/projects/environments.ts'
import { listProjects } from '../../domain/projects/settings.ts'
import { type ImportOutcome, importScreen } from '../../domain/screens/import.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { actorOf, type CliCommand, type CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { CliError, UsageError } from '../failure.ts'
import { printable } from '../table.ts'
import { screensIn } from './file.ts'

/** At most this many faults are listed. */
const SHOWN = 100

async function projectOf(pool: Pool, given: string | undefined): Promise<number> {
  if (given !== undefined) {
    if (!/^\d{1,9}$/.test(given)) throw new UsageError('--project must be the number of a project')
    return Number(given)
  }
  const projects = await listProjects(pool)
  if (projects.length === 1) return projects[0]!.id
  throw new UsageError('there is not just one project: name it with --project')
}

/** Stores all screens of a file, or none. */
async function importFile(args: string[], { env, out, note }: CommandContext): Promise<number> {
  const options = { project: { type: 'string' }, sandbox: { type: 'boolean' } } as const
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
  const [path, ...rest] = positionals
  if (path === undefined || rest.length > 0) throw new UsageError('one file is needed')
  const text = await readFile(path, 'utf8').catch(error => {
    throw new CliError(`${path}: ${(error as Error).message}`)
  })
  const { screens, faults } = screensIn(text)
  for (const { at, why } of faults.slice(0, SHOWN)) note(printable(`${at} ${why}`))
  if (faults.length > 0) {
    note(`${faults.length > SHOWN ? `… ${faults.length} faults in all. ` : ''}No screen was imported.`)
    return 2
  }
  return withDatabase(readConfig(env), async pool => {
    const project = await projectOf(pool, values.project)
    const kind = values.sandbox ? 'sandbox' : 'production'
    const environment = (await listEnvironments(pool, project)).find(one => one.kind === kind)?.id
    if (environment === undefined) throw new CliError(`project ${project} not found`)
    const trail = { project, environment, actor: actorOf(env), operation: 'screens import', requestId: null }
    const outcomes = await transaction(pool, async tx => {
      const all: ImportOutcome[] = []
      for (const screen of screens) {
        const outcome = await importScreen(tx, environment, screen)
        const { id, name, status, type, context_key } = screen
        if (outcome !== 'unchanged') await audit(tx, trail, { resource: 'screen', id, after: { id, name, status, type, context_key } })
        all.push(outcome)
      }
      return all
    })
    const count = (outcome: ImportOutcome) => outcomes.filter(one => one === outcome).length
    out(`${printable(path)}: ${count('created')} screens created, ${count('changed')} changed, ${count('unchanged')} there already.`)
    return 0
  })
}

export const screens: CliCommand = async ([verb, ...args], context) => {
  if (verb === 'import') return importFile(args, context)
  throw new UsageError('screens import FILE.json?')
}
