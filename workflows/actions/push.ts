import { fillIn } from '../../domain/automations/automation-runs/placeholders.ts'
import { findPush } from '../../domain/growth/pushes/push.ts'
import { pushSender, type Sender } from '../../domain/integrations/sender.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { type Effects, type PushToSend, StepSkipped } from '../automation/step-kind.ts'
import { RetryAt, StopRetrying } from '../engine/policy.ts'
import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { excerpt } from '../outgoing/response.ts'
import { sendByFirebase } from './firebase.ts'
import type { Message, Pushed, PushScope } from './message.ts'
import { sendByOneSignal } from './onesignal.ts'

export type PushDeps = { pool: Pool; secrets: Secrets; outgoing: Outgoing; tokens: GoogleTokens }

const PROVIDERS: Record<string, (message: Message, sender: Sender, scope: PushScope) => Promise<Pushed>> = {
  firebase: sendByFirebase,
  onesignal: sendByOneSignal,
}

/** The provider's id of an accepted push. Throws in the terms of steps where the push was not accepted. */
function acceptedId(pushed: Pushed): string | null {
  switch (pushed.is) {
    case 'accepted':
      return pushed.id === null ? null : excerpt(pushed.id)
    case 'no_device':
      throw new StepSkipped('no_device')
    case 'not_configured':
      throw new StopRetrying('push_not_configured', { cause: new Error(pushed.error) })
    case 'rejected':
      throw new StopRetrying('push_rejected', { cause: new Error(pushed.error) })
    case 'failed':
      if (pushed.retryAfterSeconds !== null) throw new RetryAt(pushed.error, pushed.retryAfterSeconds)
      throw new Error(pushed.error)
    default:
      return pushed satisfies never
  }
}

/** Sends a template to the user of an event, through the integration that the template names or the one that reaches the user. */
export const pushSending =
  ({ pool, secrets, outgoing, tokens }: PushDeps): Effects['sendPush'] =>
  async (environment, { push: id, occurrence, key, signal }: PushToSend) => {
    const push = await findPush(pool, environment, id)
    if (!push) throw new StopRetrying('push_not_found')
    const { user } = occurrence
    if (!user) throw new StepSkipped('no_device')
    const sender = await pushSender({ db: pool, secrets }, environment, user.id, push.integration_id)
    const send = sender && PROVIDERS[sender.slug]
    if (!send) throw new StopRetrying('push_not_configured')
    const message = {
      key,
      user,
      title: fillIn(push.title, occurrence),
      body: fillIn(push.body, occurrence),
      imageUrl: push.image_url,
      deepLink: push.deep_link,
      data: push.data,
    }
    const provider_message_id = acceptedId(await send(message, sender, { outgoing, tokens, signal }))
    return { provider: sender.slug, provider_message_id }
  }
