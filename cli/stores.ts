import type { CliCommand } from './command.ts'
import { UsageError } from './failure.ts'
import { storesBackfill } from './stores/backfill.ts'
import { storesCheck } from './stores/check.ts'
import { storesImport } from './stores/import/command.ts'
import { storesReplay } from './stores/replay.ts'
import { storesStatus } from './stores/status.ts'
import { storesTest } from './stores/test.ts'
import { storesTransfer } from './stores/transfer.ts'

const VERBS = new Map<string, CliCommand>([
  ['status', storesStatus],
  ['check', storesCheck],
  ['test', storesTest],
  ['replay', storesReplay],
  ['transfer', storesTransfer],
  ['import', storesImport],
  ['backfill', storesBackfill],
])

/** What an operator does about Apple, Google Play, Stripe and Paddle. */
export const stores: CliCommand = async ([name, ...args], context) => {
  const verb = VERBS.get(name ?? '')
  if (verb === undefined) throw new UsageError(`stores ${[...VERBS.keys()].join(', ')}?`)
  return verb(args, context)
}
