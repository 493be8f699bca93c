import { type Consumer, consumeBatch } from '../../domain/log/consume.ts'
import type { ConsumerName } from '../../domain/log/consumer.ts'
import { CONSUMERS } from '../../domain/reconciliation/log-handlers.ts'
import type { Pool } from '../../store/connect.ts'
import type { ClaimOnInsert } from '../../workflows/engine/handler.ts'

/** Where nobody holds anything: whatever is made is left for the sweeps. */
export const claimNothing: ClaimOnInsert = (_kind, _environment, transact) => transact(null)

/** A consumer that writes something of its own, and promises nothing. */
export const consumer = (name: ConsumerName, write: (...args: Parameters<Consumer['handle']>) => Promise<void>): Consumer => ({
  name,
  jobKind: 'nothing',
  async handle(...args) {
    await write(...args)
    return []
  },
})

/** Reads the environment's log to its end for the automations, as a worker would. Nothing else is done that is due. */
export async function readForAutomations(pool: Pool, environment: number): Promise<void> {
  const automations = CONSUMERS.find(({ name }) => name === 'automations')!
  while ((await consumeBatch(pool, automations, environment, { partitions: 64, perPartition: 256 })).partitions > 0);
}
