import { consumeForAutomations } from '../../domain/automations/consume.ts'
import { consumeBatch } from '../../domain/log/consume.ts'
import type { Pool } from '../../store/connect.ts'

/** Reads the environment's log to its end for the automations, as a worker would. Nothing else is done that is due. */
export async function readForAutomations(pool: Pool, environment: number): Promise<void> {
  const consumer = { name: 'automations' as const, handle: consumeForAutomations }
  while ((await consumeBatch(pool, consumer, environment, { partitions: 64, perPartition: 256 })).partitions > 0);
}
