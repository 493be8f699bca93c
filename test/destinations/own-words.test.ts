import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'
import { analyticsName } from '../../workflows/destinations/firebase.ts'
import { eventDestinations, ONLY_MAPPED } from '../../workflows/destinations/registry.ts'
import type { OutgoingResponse } from '../../workflows/outgoing/outgoing.ts'
import { bareOccurrence, occurrence } from '../harness/occurrence.ts'
import { vendors } from '../harness/vendors/all.ts'

/** What a destination sends to a vendor that answers like this. */
async function say(slug: string, event: OutgoingEvent, { status = 200, body = {} as unknown, settings = {} } = {}) {
  const requests: { url: string; body: string; headers: Record<string, string> }[] = []
  const answer: OutgoingResponse = { is: 'response', status, retryAfterSeconds: null, text: JSON.stringify(body), durationMs: 1 }
  const sent = await eventDestinations.get(slug)!.send(event, {
    outgoing: {
      request: async ({ url, body, headers }) => {
        requests.push({ url, body: String(body), headers: headers ?? {} })
        return answer
      },
      close: async () => {},
    },
    settings: { ...vendors.find(vendor => vendor.slug === slug)!.settings, ...settings },
    deliveryId: 'dlv_0123456789abcdefghij',
    signal: new AbortController().signal,
  })
  const [first] = requests
  const form = () => Object.fromEntries(new URLSearchParams(first!.body))
  return { sent, url: first?.url, headers: first?.headers, text: first?.body ?? '', json: () => JSON.parse(first!.body), form, requests }
}
const anonymous = occurrence({ user: { ...occurrence().user!, identity_id: null } })
const without = (name: string) =>
  occurrence({ user: { ...occurrence().user!, properties: { ...occurrence().user!.properties, [name]: '' } } })

describe('who a user is', () => {
  test('is the login where there is one, else this service’s user id', async () => {
    expect((await say('mixpanel', occurrence())).json()[0].properties).toMatchObject({ distinct_id: 'anna', $user_id: 'anna' })
    const stranger = (await say('mixpanel', anonymous)).json()[0].properties
    expect([stranger.distinct_id, stranger.$user_id]).toEqual([anonymous.user!.id, undefined])
    const custom = occurrence({ user: { ...anonymous.user!, properties: { _q_custom_user_id: 'anna-7' } } })
    expect((await say('posthog', custom)).json().distinct_id).toBe('anna-7')
  })

  test('amplitude and segment are told the anonymous id apart from the login', async () => {
    const [event] = (await say('amplitude', anonymous)).json().events
    expect([event.user_id, event.device_id]).toEqual([undefined, anonymous.device.id])
    const [nobody] = (await say('amplitude', bareOccurrence({ user: null }))).json().events
    expect(nobody.device_id).toBe('evt_AAAAAAAAAAAAAAAAAAAA')
    expect((await say('segment', anonymous)).json()).not.toHaveProperty('userId')
    expect((await say('segment', occurrence())).json()).toMatchObject({ userId: 'anna', anonymousId: anonymous.user!.id })
  })

  test('an event of nobody makes no person', async () => {
    const nobody = bareOccurrence({ user: null })
    expect((await say('mixpanel', nobody)).json()[0].properties.distinct_id).toBe('')
    expect((await say('posthog', nobody)).json().properties).toMatchObject({ $process_person_profile: false, $geoip_disable: true })
  })

  test.each([
    ['appsflyer', '_q_appsflyer_user_id', 'no_appsflyer_id'],
    ['tenjin', '_q_tenjin_aiid', 'no_tenjin_id'],
    ['mailchimp', '_q_email', 'no_email'],
  ])('%s knows users by %s only: without it nothing is sent', async (slug, name, error) => {
    const { sent, requests } = await say(slug, without(name))
    expect(sent).toMatchObject({ outcome: 'reject', error, httpStatus: null })
    expect(requests).toEqual([])
  })

  test('ids and addresses meant for one vendor are told to no other', async () => {
    for (const { slug } of vendors) {
      const { text, url } = await say(slug, occurrence())
      expect(`${slug} ${text} ${url}`).not.toMatch(/Anna@Example/i)
    }
    expect((await say('segment', occurrence())).json().context.traits).toEqual({ color: 'blue' })
  })

  test('an advertising id of zeros is none', async () => {
    const off = occurrence({ device: { ...occurrence().device, advertiser_id: '00000000-0000-0000-0000-000000000000' } })
    expect((await say('facebook', off)).json()).toMatchObject({ advertiser_tracking_enabled: 0, anon_id: expect.any(String) })
    expect((await say('facebook', off)).json()).not.toHaveProperty('advertiser_id')
    expect((await say('tenjin', off)).form()).toMatchObject({ limit_ad_tracking: '1' })
  })
})

describe('slack', () => {
  test('rings nobody, whatever stands in an event', async () => {
    const { text } = await say('slack', occurrence({ properties: { note: '<!channel> & <@U1>' } }))
    expect(text).not.toMatch(/<!channel>|<@U1>/)
    expect(text).toContain('&lt;!channel&gt; &amp; &lt;@U1&gt;')
  })

  test('the address of the webhook is the way', async () => {
    expect((await say('slack', occurrence())).url).toBe('https://hooks.slack.com/services/T0/B0/right')
  })
})

describe('adjust', () => {
  test('is sent what is mapped to one of its tokens only', async () => {
    expect(ONLY_MAPPED).toEqual(new Set(['adjust']))
    const { sent, requests } = await say('adjust', occurrence())
    expect([sent.outcome, sent.error, requests]).toEqual(['reject', 'event_not_mapped', []])
  })

  test.each([
    [400, 'Event request failed (Ignoring event, earlier unique event tracked)', 'delivered'],
    [400, 'Event request failed (Invalid app token)', 'retry'],
    [404, 'Event request failed (App token not found)', 'retry'],
    [404, 'Event request failed (Device not found)', 'reject'],
    [400, 'Event request failed (Invalid event token)', 'reject'],
    [451, 'Event request failed (Device is opted out)', 'reject'],
  ])('%i "%s" is: %s', async (status, error, outcome) => {
    expect((await say('adjust', occurrence({ outgoing_name: 'abc123' }), { status, body: { error } })).sent.outcome).toBe(outcome)
  })

  test('sandbox events go to its sandbox', async () => {
    const { form } = await say('adjust', occurrence({ outgoing_name: 'abc123', environment: 'sandbox' }))
    expect(form()).toMatchObject({ environment: 'sandbox', event_token: 'abc123', idfa: occurrence().device.advertiser_id })
  })
})

describe('firebase', () => {
  test('a name that Google would silently drop goes out under another', () => {
    expect(['in_app_purchase', 'session_start', 'firebase_x', 'error'].map(analyticsName)).toEqual([
      'perennial_in_app_purchase',
      'perennial_session_start',
      'perennial_firebase_x',
      'perennial_error',
    ])
    expect(['purchase', 'my.event-name', '1st', 'x'.repeat(60)].map(analyticsName)).toEqual([
      'purchase',
      'my_event_name',
      'e_1st',
      'x'.repeat(40),
    ])
  })

  test('an installation that is not known is made of the user, always the same', async () => {
    const unknown = without('_q_firebase_instance_id')
    const first = (await say('firebase', unknown)).json().app_instance_id
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    expect((await say('firebase', unknown)).json().app_instance_id).toBe(first)
    expect((await say('firebase', occurrence())).json().app_instance_id).toBe('0123456789abcdef0123456789abcdef')
  })

  test('of many properties the money and the ids go first', async () => {
    const properties = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, i]))
    const { params } = (await say('firebase', occurrence({ properties }))).json().events[0]
    expect(Object.keys(params)).toHaveLength(25)
    expect(params).toMatchObject({ value: 9.99, currency: 'EUR', delivery_id: 'dlv_0123456789abcdefghij' })
  })
})

describe('facebook', () => {
  test.each([
    [190, false, 'retry'],
    [17, false, 'retry'],
    [200, false, 'retry'],
    [100, false, 'reject'],
    [100, true, 'retry'],
  ])('error %i, transient %s, is: %s', async (code, is_transient, outcome) => {
    const { sent } = await say('facebook', occurrence(), { status: 400, body: { error: { code, is_transient, message: 'told' } } })
    expect(sent.outcome).toBe(outcome)
  })
})

describe('the rest', () => {
  test('mailchimp: data centre of the key, member by the hash of the address in small letters', async () => {
    const member = createHash('md5').update('anna@example.com').digest('hex')
    expect((await say('mailchimp', occurrence())).url).toBe(`https://us6.api.mailchimp.com/3.0/lists/a1b2/members/${member}/events`)
  })

  test('clevertap: the region’s host, and its own key against repeats where an event is mapped to Charged', async () => {
    const { url, json } = await say('clevertap', occurrence({ outgoing_name: 'Charged' }))
    expect(url).toBe('https://in1.api.clevertap.com/1/upload')
    expect(json().d[0].evtData).toMatchObject({ 'Charged ID': 'dlv_0123456789abcdefghij', Amount: 9.99 })
    expect((await say('clevertap', occurrence(), { settings: { region: 'evil.example/' } })).url).toBe('https://api.clevertap.com/1/upload')
  })

  test('appsflyer: an App Store number gets its "id", a package name stays', async () => {
    expect((await say('appsflyer', occurrence())).url).toBe('https://api2.appsflyer.com/inappevent/id123456789')
    const { url } = await say('appsflyer', occurrence(), { settings: { app_id: 'com.example.app' } })
    expect(url).toBe('https://api2.appsflyer.com/inappevent/com.example.app')
  })

  test('branch: its own events by their names, all others as custom', async () => {
    expect((await say('branch', occurrence({ outgoing_name: 'SUBSCRIBE' }))).url).toMatch(/\/standard$/)
    expect((await say('branch', occurrence())).url).toMatch(/\/custom$/)
  })

  test('braze: what it queues during maintenance it has', async () => {
    expect((await say('braze', occurrence(), { status: 202, body: { message: 'queued' } })).sent.outcome).toBe('delivered')
    expect((await say('braze', occurrence())).url).toBe('https://rest.iad-01.braze.com/users/track')
  })

  test('tenjin: money above zero is a purchase, all else an event', async () => {
    expect((await say('tenjin', occurrence())).url).toMatch(/\/v0\/purchase$/)
    expect((await say('tenjin', occurrence({ money: null }))).url).toMatch(/\/v0\/event$/)
    expect((await say('tenjin', occurrence({ revenue: 'proceeds' }))).form()).toMatchObject({ price: '8.49', postcut: '1' })
  })

  test('posthog: a reached quota is told with 200', async () => {
    expect((await say('posthog', occurrence(), { body: { status: 'Ok', quota_limited: ['events'] } })).sent).toMatchObject({
      outcome: 'retry',
    })
  })

  test('mixpanel: the delivery’s id in its alphabet', async () => {
    expect((await say('mixpanel', occurrence())).json()[0].properties.$insert_id).toBe('dlv-0123456789abcdefghij')
  })
})
