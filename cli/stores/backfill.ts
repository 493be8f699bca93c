import { parseArgs } from 'node:util'
import { readConfig } from '../../app/config.ts'
import type { StorePlatform } from '../../domain/stores/config.ts'
import { backfillStore } from '../../workflows/stores/sweep/backfill.ts'
import { sweepsOf } from '../../workflows/stores/sweep/sweeps.ts'
import { projectId, refuseMore } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { CliError, UsageError } from '../failure.ts'
import { counted } from '../import/progress.ts'
import { withProject, withStoreClients } from './open.ts'
import { platformOf, STORE_NAME } from './words.ts'

/** `fromMs` null: as far back as the store tells. */
export type BackfillArguments = { project: number; platform: StorePlatform; fromMs: number | null }

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** A day of UTC that exists and has begun by `now` (ms). */
function dayOf(text: string, now: number): number {
  const at = DATE.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== text) throw new UsageError('--from must be a date such as 2026-01-31')
  if (at > now) throw new UsageError(`--from ${text} is in the future`)
  return at
}

export function backfillArguments(args: string[], now: number = Date.now()): BackfillArguments {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { from: { type: 'string' } } })
  const [given, store, ...rest] = positionals
  const project = projectId(given)
  const platform = platformOf(store)
  refuseMore(rest)
  return { project, platform, fromMs: values.from === undefined ? null : dayOf(values.from, now) }
}

/**
 * Has a store asked for everything that it still knows: the workers ask about each lineage, at a part of the budget. A repeat goes on where the former
 * run was broken off. Exit code 1: the store has not answered.
 */
export const storesBackfill: CliCommand = async (args, { env, signal, out, note }) => {
  const { project, platform, fromMs } = backfillArguments(args)
  const config = readConfig(env)
  return withProject(config, project, ({ pool, secrets }) =>
    withStoreClients(config, async clients => {
      const deps = { pool, secrets, sweeps: sweepsOf(clients) }
      const result = await backfillStore(deps, { project, platform, fromMs, signal }, ({ environment, phase, lanes, notifications }) =>
        note(`${environment}, ${phase}: ${counted(lanes)} lineages to ask about, ${counted(notifications)} new notifications`),
      )
      if (result.is === 'not_connected')
        throw new CliError(`${STORE_NAME[platform]} is not connected: "stores check ${project}" tells what is missing`)
      const found = `${counted(result.lanes)} lineages to ask about, ${counted(result.notifications)} new notifications`
      if (result.is === 'stopped')
        throw new CliError(
          `${STORE_NAME[platform]} (${result.environment}) gave no answer: ${result.why}. So far: ${found}. The same command goes on from there`,
        )
      out(`${found}. The workers ask ${STORE_NAME[platform]} about them: "stores status ${project}" shows what is pending.`)
      return 0
    }),
  )
}
