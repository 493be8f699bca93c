import { object, one, oneOf, string, type Vendor } from './vendor.ts'

const words = (max: number) => object({ type: oneOf('mrkdwn'), text: string(max) })
const shown = (body: { blocks: { text: { text: string } }[] }) => body.blocks[0]!.text.text
const line = (body: { blocks: { text: { text: string } }[] }, name: string) => new RegExp(`• ${name}: (.*)`).exec(shown(body))?.[1]

export const slack: Vendor = {
  slug: 'slack',
  settings: { webhook_url: 'https://hooks.slack.com/services/T0/B0/right' },
  wrongKey: { webhook_url: 'https://hooks.slack.com/services/T0/B0/wrong' },
  paths: /^POST \/services\/T0\/B0\/\w+$/,
  isAuthorized: ({ path }) => path.endsWith('/right'),
  body: object({
    text: string(40_000),
    blocks: {
      type: 'array',
      minItems: 1,
      maxItems: 50,
      items: {
        oneOf: [object({ type: oneOf('section'), text: words(3000) }), object({ type: oneOf('context'), elements: one(words(2000)) })],
      },
    },
  }),
  ok: { status: 200, body: 'ok' },
  unauthorized: { status: 403, body: 'invalid_token' },
  limited: { status: 429, headers: { 'retry-after': '30' }, body: 'rate_limited' },
  malformed: () => ({ status: 400, body: 'invalid_blocks' }),
  refused: { status: 404, body: 'channel_not_found' },
  dedup: ({ body }) => body.blocks[1].elements[0].text.split(' · ')[1],
  revenue: ({ body }) =>
    line(body, 'revenue') === undefined ? null : { amount: Number(line(body, 'revenue')), currency: line(body, 'currency')! },
  who: ({ body }) => line(body, 'user')?.split(' / ')[0],
}
