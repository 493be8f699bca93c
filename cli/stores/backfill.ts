import { parseArgs } from 'node:util'
import type { StorePlatform } from '../../domain/stores/config.ts'
import { projectId, refuseMore } from '../arguments.ts'
import { UsageError } from '../failure.ts'
import { platformOf } from './words.ts'

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
