import type { Environment } from '../../domain/kernel/environment.ts'
import { openChannel } from '../../domain/oversight/alerts/channel.ts'
import { ALERT_WORKFLOW, loadMessage, recordMessageFailed, recordMessageSent } from '../../domain/oversight/alerts/message.ts'
import { messageOf, PartlyDone, RetryAt, StopRetrying } from '../engine/policy.ts'
import type { StepScope, Workflow } from '../engine/workflow.ts'
import { type ChannelDeps, sendToChannel } from './send.ts'

/** Each run waits for the server of a channel for up to ten seconds. */
const CONCURRENCY = 32
/** The mail server of a channel may take its ten seconds after the statements around it. */
const LIMIT_MS = 15_000

type PartlySent = { acceptedBy: readonly string[] }

/** Sends one alert to one channel. A message that has used up its attempts has failed: the alert and the channel show why. */
export const alertMessages = (deps: ChannelDeps): Workflow => ({
  kind: ALERT_WORKFLOW.workflow,
  version: ALERT_WORKFLOW.version,
  concurrency: CONCURRENCY,

  async run({ environment, subject, step }) {
    await step('send', scope => send(deps, environment, subject, scope), {
      policy: 'delivery',
      limitMs: LIMIT_MS,
      record: async (tx, result, attempts) => {
        if (result === 'sent') await recordMessageSent(tx, environment, subject, attempts)
      },
      failing: async (tx, { attempts, isLast, error }) => {
        await recordMessageFailed(tx, environment, subject, { attempts, isLast, error: messageOf(error) })
      },
    })
  },

  failed: async () => {},
})

async function send(deps: ChannelDeps, environment: Environment, subject: string, scope: StepScope): Promise<'sent' | 'skipped'> {
  // Read at each attempt: the channel may have been corrected since the last one.
  const loaded = await loadMessage(deps.pool, environment, subject)
  if (!loaded) return 'skipped'
  const channel = openChannel(deps.secrets, environment, loaded.channel)
  const { acceptedBy = [] } = (scope.partialResult as PartlySent | null) ?? {}
  const sent = await sendToChannel(deps, channel, loaded.message, { signal: scope.signal, acceptedBy })
  const why = sent.error ?? `answered ${sent.httpStatus}`
  switch (sent.outcome) {
    case 'delivered':
      return 'sent'
    case 'gone':
    case 'reject':
      throw new StopRetrying(why)
    case 'retry':
      if (sent.acceptedBy) throw new PartlyDone(why, { acceptedBy: sent.acceptedBy } satisfies PartlySent)
      throw sent.retryAfterSeconds === null ? new Error(why) : new RetryAt(why, sent.retryAfterSeconds)
    default:
      return sent.outcome satisfies never
  }
}
