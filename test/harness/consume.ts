import { type Consumer, consumeBatch } from '../../domain/durable/log/consume.ts'
import type { ConsumerName } from '../../domain/durable/log/consumer.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import type { Pool } from '../../store/connect.ts'
import type { ClaimOnInsert } from '../../workflows/engine/handler.ts'

/** Without an executor: what is inserted is left for the sweeps. */
export const claimNothing: ClaimOnInsert = (_kind, _environment, insert) => insert(null)

/** A consumer that writes rows of the test and inserts no job. */
export const consumer = (name: ConsumerName, write: (...args: Parameters<Consumer['handle']>) => Promise<void>): Consumer => ({
  name,
  jobKind: 'nothing',
  async handle(...args) {
    await write(...args)
    return []
  },
})

/** Reads the environment's log to its end for the automations, as a worker would. Executes no job. */
export async function readForAutomations(pool: Pool, environment: number): Promise<void> {
  const automations = CONSUMERS.find(({ name }) => name === 'automations')!
  while ((await consumeBatch(pool, automations, environment, { partitions: 64, perPartition: 256 })).partitions > 0);
}
