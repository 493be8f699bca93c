// What is shown of the request of a delivery: for every destination, whatever characters its secrets have.
import { expect, test } from 'vitest'
import { FORMER_SIGNING_SECRET } from '../../domain/integrations/config.ts'
import { maskedRequest } from '../../domain/integrations/deliveries/masked-request.ts'
import type { Setting } from '../../domain/integrations/provider.ts'
import { providerOf } from '../../domain/integrations/providers.ts'
import { makeRequest } from '../../workflows/destinations/made-request.ts'
import { eventDestinations } from '../../workflows/destinations/registry.ts'
import { occurrence } from '../harness/occurrence.ts'

/** The beginning of every secret, and how it looks in base64. */
const [SECRET, IN_BASE64] = ['Zq9', 'WnE5']
const AWKWARD = `${SECRET}"\\/+&=%? ~é`

function settingOf({ name, kind, secret }: Setting): unknown {
  if (kind === 'signing_secret') return `whsec_${Buffer.from(`${SECRET}${'x'.repeat(29)}`).toString('base64')}`
  if (kind === 'url') return `https://example.org/${secret ? SECRET : 'open'}/${name}`
  return secret ? `${AWKWARD}${name}-us1` : `open_${name}`
}

test.each([...eventDestinations.keys()])('%s: no secret in address, headers or body', async slug => {
  const known = Object.fromEntries(providerOf(slug).settings.map(setting => [setting.name, settingOf(setting)]))
  const settings = { ...known, [FORMER_SIGNING_SECRET]: known.signing_secret ?? '' }
  const outgoing_name = slug === 'adjust' ? 'abc123' : occurrence().outgoing_name
  // A caller may have written a secret into a property, which some providers get as JSON in a form.
  const [secret] = providerOf(slug).settings.filter(setting => setting.secret)
  const event = occurrence({ outgoing_name, properties: { note: `of ${known[secret!.name]}` } })
  const made = await makeRequest(eventDestinations.get(slug)!, { id: 'dlv_0123456789abcdefghij', slug, settings, occurrence: event })
  const shown = maskedRequest(made!, slug, settings)
  expect(shown.address).toMatch(/^(https:\/\/|…)/)
  const text = JSON.stringify(shown)
  expect(text).not.toContain(SECRET)
  expect(text).not.toContain(IN_BASE64)
  expect(text).toContain('…')
})

test('a body is shown up to 8,192 characters, with the length of all of it', async () => {
  const properties = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`p${n}`, 'x'.repeat(1_000)]))
  const settings = { url: 'https://example.org/hook', signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
  const content = { id: 'dlv_a', slug: 'webhooks', settings, occurrence: occurrence({ properties }) }
  const made = await makeRequest(eventDestinations.get('webhooks')!, content)
  const shown = maskedRequest(made!, 'webhooks', settings)
  expect([shown.body!.length, shown.body_length]).toEqual([8_192, made!.body.length])
  expect(shown.headers).toMatchObject({ 'webhook-id': 'dlv_a', 'webhook-timestamp': '…', 'webhook-signature': '…' })
})

test('without an address nothing is made', async () => {
  const content = { id: 'dlv_a', slug: 'webhooks', settings: {}, occurrence: occurrence() }
  expect(await makeRequest(eventDestinations.get('webhooks')!, content)).toBeNull()
})
