import type { GroupDefinition } from './definition.ts'
import { commandOf } from './program.ts'
import { storesBackfill } from './stores/backfill.ts'
import { storesCheck } from './stores/check.ts'
import { storesImport } from './stores/import/command.ts'
import { storesReplay } from './stores/replay.ts'
import { storesStatus } from './stores/status.ts'
import { storesTest } from './stores/test.ts'
import { storesTransfer } from './stores/transfer.ts'

/** What an operator does about Apple, Google Play, Stripe and Paddle. */
export const storesGroup: GroupDefinition = {
  name: 'stores',
  summary: 'what the App Store, Google Play, Stripe and Paddle have told, and what hinders it',
  commands: [storesStatus, storesCheck, storesTest, storesReplay, storesTransfer, storesImport, storesBackfill],
}

export const stores = commandOf(storesGroup)
