import { proceedsRates } from '../../domain/events/money.ts'
import type { FactAccess } from '../../domain/figures/open-source.ts'
import { type ReplicaOptions, type Replicas, replicasOf } from '../../domain/figures/replica/replicas.ts'
import type { Pool } from '../../store/connect.ts'

/** `answers`: what answered each question. */
export type Opened = { access: FactAccess; answers: string[]; errors: string[]; close: () => Promise<void> }

/** Opens replicas as a process has them, of any number of facts. */
export function openingReplicas({ pool, scanning, folder }: { pool: Pool; scanning: Pool; folder: string }) {
  const opened: Replicas[] = []
  const open = (options: Partial<ReplicaOptions> = {}): Opened => {
    const answers: string[] = []
    const errors: string[] = []
    const replicas = replicasOf({
      ...{ pool: scanning, folder, memory: '384MB', from: 0 },
      onAnswer: by => answers.push(by),
      onError: error => errors.push(error.message),
      ...options,
    })
    opened.push(replicas)
    return { access: { pool, scanning, replicas, proceedsRates: proceedsRates({}) }, answers, errors, close: () => replicas.close() }
  }
  open.closeAll = () => Promise.all(opened.splice(0).map(replicas => replicas.close()))
  return open
}
