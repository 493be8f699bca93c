import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noTraits, TRAIT_FIELDS, type UserTraits, updateOrigin, updateTraits } from '../../domain/events/traits.ts'
import { startApi, type TestApi } from '../harness/api.ts'

type ReportedTraits = Parameters<typeof updateTraits>[1]

function updateAll(events: { reported: ReportedTraits; at: number }[]): UserTraits {
  const traits = noTraits()
  for (const { reported, at } of events) {
    updateTraits(traits, reported, at)
    updateOrigin(traits, reported, at)
  }
  return traits
}

test('stored times stand in this order', () => {
  const last = 'platform device_id device_model advertiser_id os_version locale country app_version sdk_version'
  const first = 'media_source campaign ad_set ad first_platform first_country first_app_version first_locale'
  expect(TRAIT_FIELDS).toEqual([...last.split(' '), ...first.split(' '), 'told_times', 'last_seen_at', 'created_at', 'is_seen_live'])
})

test('the platform of the oldest event is the first known, also when a newer one said the same before', () => {
  const traits = noTraits()
  updateOrigin(traits, { platform: 'iOS' }, 30)
  updateOrigin(traits, { platform: 'iOS' }, 10)
  updateOrigin(traits, { platform: 'Paddle' }, 20)
  expect(traits.first_platform).toBe('iOS')
})

test('each value has a time of its own: what events say in any order, the oldest and the newest that said it count', () => {
  const maybe = (...values: string[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
  const event = fc.record({
    at: fc.integer({ min: 1, max: 1_000_000 }),
    platform: maybe('iOS', 'Android'),
    country: maybe('DE', 'FR', 'US'),
    locale: maybe('de', 'fr'),
    version: maybe('1', '2'),
    media_source: maybe('Search', 'Friends'),
    campaign: maybe('summer', 'winter'),
  })
  type Drawn = typeof event extends fc.Arbitrary<infer One> ? One : never
  const reportedIn = ({ platform, country, locale, version, media_source, campaign }: Drawn) =>
    ({ platform, device: { country, locale }, app: { version }, attribution: { media_source, campaign } }) as ReportedTraits
  fc.assert(
    fc.property(fc.uniqueArray(event, { maxLength: 8, selector: ({ at }) => at }), drawn => {
      const traits = updateAll(drawn.map(one => ({ reported: reportedIn(one), at: one.at })))
      const inTime = drawn.toSorted((a, b) => a.at - b.at)
      const having = (name: keyof Drawn) => inTime.map(one => one[name]).filter(value => value !== undefined)
      const first = (name: keyof Drawn) => having(name)[0] ?? null
      const last = (name: keyof Drawn) => having(name).at(-1) ?? null
      expect(traits).toMatchObject({
        platform: last('platform'),
        country: last('country'),
        locale: last('locale'),
        app_version: last('version'),
        media_source: first('media_source'),
        campaign: first('campaign'),
        first_platform: first('platform'),
        first_country: first('country'),
        first_locale: first('locale'),
        first_app_version: first('version'),
      })
    }),
    { numRuns: 2_000, seed: 5 },
  )
})

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const DAY = 86_400_000
const event = (n: number, daysAgo: number, more: object) => ({
  ...{ event_id: `e-${n}`, event_name: 'app_opened', identity_id: 'ann', happened_at: new Date(Date.now() - daysAgo * DAY).toISOString() },
  ...more,
})
const post = async (...events: object[]) => {
  const { status, text } = await api.call('POST', '/v4/events', { body: { events } })
  expect(status, text).toBe(200)
}
const stored = async () =>
  (await api.pool.query('select country, locale, media_source, campaign, first_country from users where identity_id = $1', ['ann'])).rows[0]

test('the times are kept from batch to batch, also for users of whom one time for all values was kept before', async () => {
  await post(event(1, 20, { device: { country: 'DE' }, attribution: { media_source: 'Search', campaign: 'summer' } }))
  await post(event(2, 40, { attribution: { campaign: 'winter' } }))
  await post(event(3, 30, { device: { country: 'FR' }, attribution: { media_source: 'Friends', campaign: 'spring' } }))
  expect(await stored()).toMatchObject({ country: 'DE', first_country: 'FR', media_source: 'Friends', campaign: 'winter' })
  await api.pool.query(`update users set told_times = null, known_at = now() - interval '20 days', attributed_at = now() - interval '40 days',
    first_known_at = now() - interval '30 days' where identity_id = 'ann'`)
  await post(event(4, 35, { device: { country: 'US', locale: 'en' }, attribution: { media_source: 'Letters' } }))
  expect(await stored()).toMatchObject({ country: 'DE', locale: 'en', first_country: 'US', media_source: 'Friends', campaign: 'winter' })
  await post(event(5, 10, { device: { locale: 'fr' } }), event(6, 15, { device: { country: 'US' } }))
  expect(await stored()).toMatchObject({ country: 'US', locale: 'fr' })
})
