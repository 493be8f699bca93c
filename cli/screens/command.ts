import { readFile } from 'node:fs/promises'
import { type ImportOutcome, importScreen } from '../../domain/growth/screens/import.ts'
import { audit } from '../../domain/kernel/audit/record.ts'
import { transaction } from '../../store/transaction.ts'
import { type EnvironmentOptions, environmentNamed, ONE_PROJECT } from '../chosen-environment.ts'
import { actorOf, type CommandContext } from '../command.ts'
import { withDatabase } from '../database.ts'
import { action, type GroupDefinition } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'
import { commandOf } from '../program.ts'
import { printable } from '../table.ts'
import { screensIn } from './file.ts'

/** At most this many faults are listed. */
const SHOWN = 100

/** Stores all screens of a file, or none. */
async function importFile(path: string, given: EnvironmentOptions, { env, signal, out, note }: CommandContext): Promise<number> {
  const text = await readFile(path, 'utf8').catch(error => {
    throw new CliError(`${path}: ${(error as Error).message}`)
  })
  const { screens, faults } = screensIn(text)
  for (const { at, why } of faults.slice(0, SHOWN)) note(printable(`${at} ${why}`))
  if (faults.length > 0) {
    note(`${faults.length > SHOWN ? `… ${faults.length} faults in all. ` : ''}No screen was imported.`)
    return 2
  }
  return withDatabase({ env, signal }, async pool => {
    const { project, environment } = await environmentNamed(pool, given)
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

const importScreens = action({
  name: 'import',
  summary: 'store the screens of a file, all or none; those with a known id get its fields',
  arguments: [{ name: 'FILE.json', says: 'a screen as the API shows it, an array of screens, or a list as the API answers it' }],
  options: {
    ...ONE_PROJECT,
    sandbox: { says: 'into the sandbox of the project' },
  },
  exits: '0 done, 1 failed, 2 the file has faults and no screen is stored',
  examples: ['screens import screens.json', 'screens import screens.json --project 2 --sandbox'],
  async run({ args: [path], values }, context) {
    if (path === undefined) throw new UsageError('one file is needed: FILE.json')
    return importFile(path, values, context)
  },
})

export const screensGroup: GroupDefinition = { name: 'screens', summary: 'paywalls and web flows', commands: [importScreens] }

export const screens = commandOf(screensGroup)
