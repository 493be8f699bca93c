import { classified } from './classify-response.ts'
import type { EventDestination } from './destination.ts'
import { facts, isoTime } from './facts.ts'
import { loginId } from './ids.ts'
import { postJson, text } from './post.ts'

/** A section takes 3,000 characters. */
const MAX_CHARACTERS = 2900
const SHOWN = ['product_id', 'price', 'currency', 'revenue', 'platform', 'country', 'environment', 'transaction_id', 'expires_at']

/**
 * An incoming webhook: the address is the key. Slack has no key against repeats; the delivery's id stands in the message. Shown are
 * the identity and this service's user id.
 */
export const slack: EventDestination = {
  slug: 'slack',
  async send(occurrence, scope) {
    const webhook = text(scope.settings, 'webhook_url')
    const base = text(scope.settings, 'base_url')
    const url = base && URL.canParse(webhook) ? base.replace(/\/+$/, '') + new URL(webhook).pathname : webhook
    const all = facts(occurrence, scope.deliveryId)
    const title = `${occurrence.test ? 'Test: ' : ''}${occurrence.outgoing_name}`
    const lines = [
      ['user', [loginId(occurrence), occurrence.user?.id].filter(Boolean).join(' / ') || 'nobody'],
      ...SHOWN.filter(name => name in all).map(name => [name, all[name]]),
      ...Object.entries(occurrence.properties ?? {}),
    ].map(([name, value]) => `• ${escaped(String(name))}: ${escaped(String(value))}`)
    const footer = `<!date^${occurrence.happened_at}^{date_short_pretty} {time}|${isoTime(occurrence.happened_at)}> · ${scope.deliveryId}`
    return classified(
      await postJson(
        scope,
        { url },
        {
          text: escaped(title),
          blocks: [
            {
              type: 'section',
              text: { type: 'mrkdwn', text: `*${escaped(title)}*\n${lines.join('\n')}`.slice(0, MAX_CHARACTERS).toWellFormed() },
            },
            { type: 'context', elements: [{ type: 'mrkdwn', text: footer }] },
          ],
        },
      ),
    )
  },
}

/** Otherwise a property with `<!channel>` in it would ring everybody. */
const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
