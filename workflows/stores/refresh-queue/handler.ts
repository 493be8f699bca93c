import { STORE_QUEUE_DUE } from '../../../domain/purchases/store-inbox/queues.ts'
import { jobLoss } from '../../engine/attempt.ts'
import { NOWHERE } from '../../engine/crash-point.ts'
import type { JobHandler } from '../../engine/handler.ts'
import type { RefreshCounts, RefreshDeps } from './refresh-deps.ts'
import { takeTurn } from './turn.ts'

const UNCOUNTED: RefreshCounts = { refresh() {}, missed() {} }

/** Processes the queues of notifications, one turn at a time. */
export const refreshHandler = ({
  at = NOWHERE,
  counts = UNCOUNTED,
  onSetAside = () => {},
  ...deps
}: Pick<RefreshDeps, 'pool' | 'secrets' | 'clients'> & Partial<RefreshDeps>): JobHandler => ({
  kind: STORE_QUEUE_DUE,
  // A queue waits for a store for seconds at most; the queues of a project whose store hangs take a quarter of what the others leave.
  concurrency: 64,
  share: 1 / 4,
  async handle(claimed, signals) {
    try {
      return await takeTurn(claimed, signals, { ...deps, at, counts, onSetAside })
    } catch (error) {
      const loss = jobLoss(error, signals)
      if (loss) return loss
      throw error
    }
  },
})
