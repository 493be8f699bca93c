// Fourteen months of "Northwind Notes", an app for notes that nobody has made: the same at every run.

/** The moment of the pictures: a Friday afternoon. Later than the last event, earlier than any day on which they are taken. */
export const NOW = Date.parse('2026-11-27T15:40:00Z')
const FIRST_DAY = Date.parse('2025-10-01T00:00:00Z')
const PEOPLE = 4_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** What happened later is sent when it happens, and acts. */
export const LIVE_FROM = NOW - 3 * DAY

export const iso = (at: number): string => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')

type Plan = { id: string; type: string; duration: string; price: number; months: number }
const MONTHLY: Plan = { id: 'pro_monthly', type: 'subscription', duration: 'P1M', price: 9.99, months: 1 }
const ANNUAL: Plan = { id: 'pro_annual', type: 'subscription_with_promo', duration: 'P1Y', price: 59.99, months: 12 }
const PLUS: Plan = { id: 'plus_monthly', type: 'subscription', duration: 'P1M', price: 4.99, months: 1 }

/** The id of a product at a store. */
const atStore = (id: string, platform: string): string =>
  platform === 'Stripe' ? `prod_${id}` : platform === 'Paddle' ? `pad_${id}` : `notes.${id.replace('_', '.')}`

const idsAtStores = (id: string) => ({
  apple_product_id: atStore(id, 'iOS'),
  google_product_id: atStore(id, 'Android'),
  stripe_product_id: atStore(id, 'Stripe'),
  paddle_product_id: atStore(id, 'Paddle'),
})

export const PRODUCTS = [
  ...[MONTHLY, ANNUAL, PLUS].map(({ id, type, duration }) => ({ id, type, duration, ...idsAtStores(id) })),
  { id: 'theme_pack', type: 'lifetime', ...idsAtStores('theme_pack') },
]
export const ENTITLEMENTS = [
  { id: 'pro', description: 'Sync, search, export', product_ids: ['pro_monthly', 'pro_annual'] },
  { id: 'plus', description: 'No limit of notebooks', product_ids: ['plus_monthly', 'pro_monthly', 'pro_annual'] },
  { id: 'themes', description: 'All themes', product_ids: ['theme_pack'] },
  { id: 'labs', description: 'What is being tried', product_ids: [] },
]
export const ANNOTATIONS = [
  { at: '2026-03-03', text: 'Price of Pro annual: 49.99 → 59.99', kind: 'price_change' },
  { at: '2026-08-20', text: 'Back-to-school campaign', kind: 'campaign' },
  { at: '2026-09-14', text: 'iOS 5.2.0 in the store', kind: 'release' },
  { at: '2026-11-03', text: 'New paywall for all', kind: 'release' },
]

/** A generator of pseudo-random numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export type NorthwindEvent = { event_id: string; event_name: string; happened_at: string; [more: string]: unknown }

/** All events by time. */
export function northwindEvents(): NorthwindEvent[] {
  const random = randomOf(2026)
  const oneOf = <Value>(weights: readonly (readonly [Value, number])[]): Value => {
    let left = random() * weights.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [value, weight] of weights) {
      left -= weight
      if (left < 0) return value
    }
    return weights[0]![0]
  }
  const events: NorthwindEvent[] = []
  for (let n = 0; n < PEOPLE; n++) onePerson(`nw-${String(10_000 + n)}`, { random, oneOf, add: event => events.push(event) })
  return events.sort((a, b) => a.happened_at.localeCompare(b.happened_at) || a.event_id.localeCompare(b.event_id))
}

type Chance = {
  random: () => number
  oneOf: <Value>(weights: readonly (readonly [Value, number])[]) => Value
  add: (event: NorthwindEvent) => void
}

const PROPERTIES = {
  note_created: [
    { notebook: 'Thesis', words: 412 },
    { notebook: 'Work', words: 96 },
    { notebook: 'Recipes', words: 158 },
    { notebook: 'Journal', words: 230 },
  ],
  note_shared: [{ with: 'link' }, { with: 'e-mail', people: 3 }],
  search_used: [
    { results: 12, took_ms: 31 },
    { results: 0, took_ms: 18 },
    { results: 4, took_ms: 22 },
  ],
  paywall_shown: [{ paywall: 'autumn', from: 'export' }, { paywall: 'autumn', from: 'sync' }, { paywall: 'classic' }],
}

const CURRENCY: Record<string, readonly [string, number]> = { DE: ['EUR', 0.92], FR: ['EUR', 0.92], GB: ['GBP', 0.79] }
const LOCALE: Record<string, string> = { DE: 'de_DE', FR: 'fr_FR', JP: 'ja_JP', BR: 'pt_BR', GB: 'en_GB' }

/** More people come from month to month, on weekends, in the evening of Europe, and for a campaign. */
function arrivalOf(random: () => number): number {
  for (;;) {
    const at = FIRST_DAY + random() ** 0.55 * (NOW - FIRST_DAY)
    const date = new Date(at)
    const campaign = at > Date.parse('2026-08-20') && at < Date.parse('2026-09-12') ? 1 : 0.62
    const weekday = [1, 0.8, 0.7, 0.72, 0.8, 0.9, 1][date.getUTCDay()]!
    const hour = 0.55 + 0.45 * Math.cos(((date.getUTCHours() - 18) / 24) * 2 * Math.PI)
    if (random() < campaign * weekday * (0.25 + 0.75 * hour)) return at
  }
}

/** A calendar month later, as the stores renew. */
const afterMonths = (at: number, months: number): number => {
  const date = new Date(at)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + months)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(day, last))
  return date.getTime()
}

function onePerson(id: string, { random, oneOf, add }: Chance): void {
  const came = arrivalOf(random)
  const country = oneOf([['US', 42], ['DE', 14], ['GB', 11], ['FR', 8], ['JP', 7], ['BR', 6], ['IN', 6], ['CA', 4], ['AU', 3]] as const) // biome-ignore format: a line is a table
  const platform = oneOf([['iOS', 58], ['Android', 27], ['Stripe', 11], ['Paddle', 4]] as const) // biome-ignore format: a line is a table
  const source = oneOf([['Organic', 46], ['Apple Search Ads', 22], ['TikTok', 12], ['Google Ads', 12], ['Referral', 8]] as const) // biome-ignore format: a line is a table
  const plan = oneOf([[MONTHLY, 46], [ANNUAL, 28], [PLUS, 26]] as const) // biome-ignore format: a line is a table
  const [currency, rate] = CURRENCY[country] ?? ['USD', 1]
  const always = {
    identity_id: id,
    platform,
    app: {
      name: 'Northwind Notes',
      version: came > Date.parse('2026-09-14') ? '5.2.0' : came > Date.parse('2026-03-01') ? '5.1.3' : '4.9.0',
    },
    device: { country, locale: LOCALE[country] ?? 'en_US', model: platform === 'iOS' ? 'iPhone17,2' : 'Pixel 10', os_version: '19.1' },
    attribution: { media_source: source, ...(source !== 'Organic' && { campaign: oneOf([['launch', 2], ['spring', 2], ['autumn', 3]]) }) }, // biome-ignore format: a line is a table
  }
  let count = 0
  const tell = (event_name: string, at: number, more: object = {}) => {
    if (at <= NOW) add({ ...always, event_id: `${id}-${count++}`, event_name, happened_at: iso(at), ...more })
  }
  const lives = (at: number) => {
    const name = oneOf([['note_created', 5], ['note_shared', 1], ['search_used', 2], ['paywall_shown', 2]] as const) // biome-ignore format: a line is a table
    tell(name, at, { properties: PROPERTIES[name][Math.floor(random() * PROPERTIES[name].length)] })
  }
  tell('app_opened', came)
  if (random() < 0.1)
    for (let at = Math.max(came, NOW - 3.5 * DAY) + random() * DAY; at < NOW; at += (0.2 + 1.6 * random()) * DAY) lives(at)
  if (random() < 0.3) return

  const product_id = atStore(plan.id, platform)
  const original_transaction_id = `t-${id}`
  const old = plan === ANNUAL && came < Date.parse('2026-03-03') ? 49.99 : plan.price
  const money = { price: (Math.round(old * rate * 100) / 100).toFixed(2), currency }
  const end = { product_id, transaction: { original_transaction_id } }
  const period = (name: string, at: number, until: number, paid: object = money) =>
    tell(name, at, {
      product_id,
      transaction: { transaction_id: `t-${id}-${count}`, original_transaction_id, expires_at: iso(until) },
      ...paid,
    })
  let at = came + random() * 2 * DAY
  const kind = random()
  if (kind < 0.18) {
    if (kind < 0.06) tell('in_app_purchase', at, { product_id: atStore('theme_pack', platform), price: '2.99', currency: 'USD', transaction: { transaction_id: `t-${id}-theme` } }) // biome-ignore format: one purchase
    return
  }
  if (kind < 0.72) {
    period('trial_started', at, at + 7 * DAY, {})
    const converts =
      0.46 + (source === 'Referral' ? 0.14 : 0) - (source === 'TikTok' ? 0.14 : 0) + (came > Date.parse('2026-10-27') ? 0.08 : 0)
    if (random() > converts) {
      tell('trial_canceled', at + (0.1 + 0.8 * random()) * 7 * DAY, end)
      tell('trial_expired', at + 7 * DAY, end)
      return
    }
    at += 7 * DAY
    period('trial_converted', at, afterMonths(at, plan.months))
  } else period('subscription_started', at, afterMonths(at, plan.months))
  for (let renewals = 1; at <= NOW; renewals++) {
    const until = afterMonths(at, plan.months)
    if (random() < 0.016) tell('subscription_refunded', at + 2 * DAY, { product_id, ...money, transaction: { transaction_id: `t-${id}-${count - 1}`, original_transaction_id } }) // biome-ignore format: one refund
    if (random() < (plan === ANNUAL ? 0.4 : Math.max(0.045, 0.16 - 0.02 * renewals))) {
      tell('subscription_canceled', at + (0.2 + 0.7 * random()) * (until - at), end)
      tell('subscription_expired', until, end)
      return
    }
    if (until > NOW) return
    const late = random() < 0.03
    if (late) tell('subscription_billing_retry_entered', until, end)
    at = late ? until + 20 * HOUR : until
    period('subscription_renewed', at, afterMonths(at, plan.months))
  }
}
