import type { Secrets } from '../../../domain/projects/secrets.ts'
import { ACKNOWLEDGE_WORKFLOW, endAcknowledgement, loadAcknowledgement } from '../../../domain/purchases/acknowledgement.ts'
import { openStore } from '../../../domain/purchases/stores/settings.ts'
import type { Pool } from '../../../store/connect.ts'
import type { Workflow } from '../../engine/workflow.ts'
import { quotaOf } from '../quota.ts'
import { repeatUntilDone, type StoreAttempt } from '../repeat-until-done.ts'
import type { GooglePlay } from './client.ts'

export type AcknowledgeDeps = { pool: Pool; secrets: Secrets; google: Pick<GooglePlay, 'acknowledge'> }

const HOUR = 3600
/** The waits add up to three days: then Google has refunded the purchase. */
const WAITS = [60, 300, 1800, HOUR, 2 * HOUR, ...Array.from({ length: 17 }, () => 4 * HOUR)]

/** Acknowledges a purchase that is recorded and has an owner. Google refunds purchases that are not acknowledged within three days. */
export const acknowledgePurchase = (deps: AcknowledgeDeps): Workflow => ({
  kind: ACKNOWLEDGE_WORKFLOW.workflow,
  version: ACKNOWLEDGE_WORKFLOW.version,
  concurrency: 16,

  async run(context) {
    const id = Number(context.subject)
    const isDone = await repeatUntilDone(context, 'acknowledge', WAITS, ({ signal }) => acknowledge(deps, id, signal))
    if (isDone) await context.transact('acknowledged', async tx => void (await endAcknowledgement(tx, id)))
  },

  failed: async () => {},
})

async function acknowledge({ pool, secrets, google }: AcknowledgeDeps, id: number, signal: AbortSignal): Promise<StoreAttempt> {
  const open = await loadAcknowledgement(pool, id)
  if (open === null) return { is: 'done' }
  const { project, kind: environment, token } = open
  const settings = await openStore(pool, secrets, project, 'google')
  if (!settings?.isConnected(environment)) return { is: 'later', why: 'not_connected', afterMs: null }
  const quota = quotaOf(pool, { project, platform: 'google', environment: null }, 'claim', signal)
  const answer = await google.acknowledge(token, { settings, environment, signal, quota })
  switch (answer.is) {
    case 'done':
    // Google does not know the token, or has forgotten it: there is nothing to acknowledge any more.
    case 'unknown':
    case 'gone':
      return { is: 'done' }
    case 'notDue':
      return { is: 'later', why: 'not_paid_yet', afterMs: null }
    case 'later':
      return { is: 'later', why: answer.why, afterMs: answer.afterMs }
    case 'refused':
      return { is: 'later', why: answer.why, afterMs: null }
    default:
      return answer satisfies never
  }
}
