import { FORWARD_WORKFLOW, loadForwardedPush } from '../../../domain/purchases/store-inbox/forward.ts'
import type { Pool } from '../../../store/connect.ts'
import { RetryAt } from '../../engine/policy.ts'
import type { StepScope, Workflow } from '../../engine/workflow.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'

export type ForwardDeps = { pool: Pool; outgoing: Outgoing }

/** Each run waits for the project's own server for up to ten seconds. */
const CONCURRENCY = 128

/**
 * Sends a recorded push on to the address that the project has set for copies. Any 2xx ends it. A run that has used up its attempts has failed,
 * and nothing else follows from that.
 */
export const forwardPush = (deps: ForwardDeps): Workflow => ({
  kind: FORWARD_WORKFLOW.workflow,
  version: FORWARD_WORKFLOW.version,
  concurrency: CONCURRENCY,

  async run({ subject, step }) {
    await step('forward', scope => forward(deps, subject, scope), { policy: 'delivery' })
  },

  failed: async () => {},
})

async function forward({ pool, outgoing }: ForwardDeps, subject: string, { signal }: StepScope): Promise<'forwarded' | 'skipped'> {
  // Read at each attempt: the project may have corrected or cleared the address since the last one.
  const push = await loadForwardedPush(pool, subject)
  if (push === null || push.url === null) return 'skipped'
  const response = await outgoing.request({
    method: 'POST',
    url: push.url,
    // No other header of the store: its token would let every reader of the copies post to our own address.
    headers: {
      ...(push.contentType !== null && { 'content-type': push.contentType }),
      'webhook-id': `${push.platform}:${push.notificationId}`,
    },
    body: push.body,
    signal,
  })
  if (response.is === 'error') throw new Error(response.error)
  if (response.status >= 200 && response.status < 300) return 'forwarded'
  const why = `answered ${response.status}`
  throw response.retryAfterSeconds === null ? new Error(why) : new RetryAt(why, response.retryAfterSeconds)
}
