import { classifyResponse } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { eventFacts, isoTime } from './event-facts.ts'
import { loginId } from './ids.ts'
import { postJson, textSetting } from './vendor-request.ts'

/** A section may have 3,000 characters. */
const MAX_CHARACTERS = 2900
const SHOWN_FACTS = ['product_id', 'price', 'currency', 'revenue', 'platform', 'country', 'environment', 'transaction_id', 'expires_at']

/**
 * An incoming webhook: the address is the key. Slack has no key against repeats; the message shows the delivery's id. It shows the
 * identity and this service's user id.
 */
export const slackDestination: EventDestination = {
  slug: 'slack',
  async send(occurrence, scope) {
    const webhook = textSetting(scope.settings, 'webhook_url')
    const base = textSetting(scope.settings, 'base_url')
    const url = base && URL.canParse(webhook) ? base.replace(/\/+$/, '') + new URL(webhook).pathname : webhook
    const all = eventFacts(occurrence, scope.deliveryId)
    const title = `${occurrence.test ? 'Test: ' : ''}${occurrence.outgoing_name}`
    const lines = [
      ['user', [loginId(occurrence), occurrence.user?.id].filter(Boolean).join(' / ') || 'nobody'],
      ...SHOWN_FACTS.filter(name => name in all).map(name => [name, all[name]]),
      ...Object.entries(occurrence.properties ?? {}),
    ].map(([name, value]) => `• ${slackText(String(name))}: ${slackText(String(value))}`)
    const footer = `<!date^${occurrence.happened_at}^{date_short_pretty} {time}|${isoTime(occurrence.happened_at)}> · ${scope.deliveryId}`
    return classifyResponse(
      await postJson(
        scope,
        { url },
        {
          text: slackText(title),
          blocks: [
            {
              type: 'section',
              text: { type: 'mrkdwn', text: `*${slackText(title)}*\n${lines.join('\n')}`.slice(0, MAX_CHARACTERS).toWellFormed() },
            },
            { type: 'context', elements: [{ type: 'mrkdwn', text: footer }] },
          ],
        },
      ),
    )
  },
}

/** Otherwise a text could mention the whole channel (`<!channel>`) or hide the target of a link. */
export const slackText = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
