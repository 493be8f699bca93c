import { readConfig } from '../../app/config.ts'
import type { StorePlatform } from '../../domain/purchases/stores/config.ts'
import { backfillStore } from '../../workflows/stores/sweep/backfill.ts'
import { sweepsOf } from '../../workflows/stores/sweep/sweeps.ts'
import { PROJECT, projectId } from '../arguments.ts'
import type { CommandContext } from '../command.ts'
import { action, type CommandInput } from '../definition.ts'
import { CliError, UsageError } from '../failure.ts'
import { counted } from '../import/progress.ts'
import { withProject, withStoreClients } from './open.ts'
import { platformOf, STORE_ARGUMENT, STORE_NAME } from './words.ts'

/** `fromMs` null: as far back as the store tells. */
export type BackfillArguments = { project: number; platform: StorePlatform; fromMs: number | null }

const OPTIONS = {
  from: { value: 'DATE', says: 'only what has happened since this day of UTC; else as far back as the store tells' },
} as const

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** A day of UTC that exists and has begun by `now` (ms). */
function dayOf(text: string, now: number): number {
  const at = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text) throw new UsageError('--from must be a date such as 2026-01-31')
  if (at > now) throw new UsageError(`--from ${text} is in the future`)
  return at
}

export function backfillArguments(
  { args: [given, store], values }: CommandInput<typeof OPTIONS>,
  now: number = Date.now(),
): BackfillArguments {
  const project = projectId(given)
  const platform = platformOf(store)
  return { project, platform, fromMs: values.from === undefined ? null : dayOf(values.from, now) }
}

/**
 * Has a store asked for everything that it still knows: the workers ask about each lineage, at a part of the budget. A repeat goes on where the former
 * run was broken off. Exit code 1: the store has not answered.
 */
async function backfill(input: CommandInput<typeof OPTIONS>, { env, signal, out, note }: CommandContext): Promise<number> {
  const { project, platform, fromMs } = backfillArguments(input)
  const config = readConfig(env)
  return withProject({ env, signal }, project, ({ pool, secrets }) =>
    withStoreClients(config, async clients => {
      const deps = { pool, secrets, sweeps: sweepsOf(clients) }
      const result = await backfillStore(deps, { project, platform, fromMs, signal }, ({ environment, phase, queues, notifications }) =>
        note(`${environment}, ${phase}: ${counted(queues)} lineages to ask about, ${counted(notifications)} new notifications`),
      )
      if (result.is === 'not_connected')
        throw new CliError(`${STORE_NAME[platform]} is not connected: "stores check ${project}" tells what is missing`)
      const found = `${counted(result.queues)} lineages to ask about, ${counted(result.notifications)} new notifications`
      if (result.is === 'stopped')
        throw new CliError(
          `${STORE_NAME[platform]} (${result.environment}) gave no answer: ${result.why}. So far: ${found}. The same command goes on from there`,
        )
      out(`${found}. The workers ask ${STORE_NAME[platform]} about them: "stores status ${project}" shows what is pending.`)
      return 0
    }),
  )
}

export const storesBackfill = action({
  name: 'backfill',
  summary: 'have the store asked for everything that it still knows',
  arguments: [PROJECT, STORE_ARGUMENT],
  options: OPTIONS,
  details: 'The same command goes on where it was broken off.',
  examples: ['stores backfill 1 stripe', 'stores backfill 1 apple --from 2026-01-01'],
  run: backfill,
})
