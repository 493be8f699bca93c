import type { Secrets } from '../../../domain/projects/secrets.ts'
import { CONSUMPTION_WORKFLOW, loadConsumption } from '../../../domain/purchases/consumption.ts'
import { openStore } from '../../../domain/purchases/stores/settings.ts'
import type { Pool } from '../../../store/connect.ts'
import type { Workflow } from '../../engine/workflow.ts'
import { quotaOf } from '../quota.ts'
import { repeatUntilDone, type StoreAttempt } from '../repeat-until-done.ts'
import type { AppStore } from './client.ts'

export type ConsumptionDeps = { pool: Pool; secrets: Secrets; apple: Pick<AppStore, 'sendConsumption'> }

/** The waits add up to eleven hours: Apple decides without an answer after twelve. */
const WAITS = [60, 300, 1800, 3600, 7200, 7200, 7200, 7200, 5400]

/** Sends Apple the project's preference about a request for a refund. */
export const answerConsumption = (deps: ConsumptionDeps): Workflow => ({
  kind: CONSUMPTION_WORKFLOW.workflow,
  version: CONSUMPTION_WORKFLOW.version,
  concurrency: 16,

  async run(context) {
    const purchase = Number(context.subject)
    await repeatUntilDone(context, 'answer', WAITS, ({ signal }) => answer(deps, purchase, signal))
  },

  failed: async () => {},
})

async function answer({ pool, secrets, apple }: ConsumptionDeps, purchase: number, signal: AbortSignal): Promise<StoreAttempt> {
  // Read at each attempt: the customer may have withdrawn consent since the last one.
  const wanted = await loadConsumption(pool, purchase)
  if (wanted === null) return { is: 'done' }
  const { project, kind: environment, transaction, wish } = wanted
  const settings = await openStore(pool, secrets, project, 'apple')
  if (!settings?.isConnected(environment)) return { is: 'later', why: 'not_connected', afterMs: null }
  const quota = quotaOf(pool, { project, platform: 'apple', environment }, 'claim', signal)
  const sent = await apple.sendConsumption(transaction, wish, { settings, environment, signal, quota })
  if (sent.is === 'later') return { is: 'later', why: sent.why, afterMs: sent.afterMs }
  return sent.is === 'refused' ? { is: 'later', why: sent.why, afterMs: null } : { is: 'done' }
}
