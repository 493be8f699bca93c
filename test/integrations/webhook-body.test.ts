import { expect, test } from 'vitest'
import type { OutgoingEvent } from '../../domain/integrations/outgoing-event.ts'
import { sampleEvent } from '../../domain/integrations/sample-event.ts'
import { webhookBody } from '../../workflows/destinations/webhook-body.ts'

const AT = '2026-03-01T09:00:00Z'
const EPOCH = Date.parse(AT) / 1000
const sample = (changes: Partial<OutgoingEvent> = {}, revenue: 'price' | 'proceeds' = 'price'): OutgoingEvent => ({
  ...sampleEvent({ environment: 'production', name: 'subscription_renewed', outgoingName: 'Renewed', revenue, at: AT }),
  test: false,
  ...changes,
})
const NOTHING = { id: null, model: null, advertiser_id: null, os_version: null, locale: null, country: null, ip: null }

test('everything that is known', () => {
  expect(webhookBody(sample({ properties: { plan: 'gold', seats: 3 } }))).toEqual({
    event_name: 'Renewed',
    user_id: 'QON_00000000000000000000000000000000',
    custom_user_id: 'test-user',
    identity_id: 'test-user',
    advertiser_id: '00000000-0000-4000-8000-000000000000',
    device_id: '00000000-0000-4000-8000-000000000000',
    time: EPOCH,
    created_at: EPOCH,
    product_id: 'premium_monthly',
    revenue: { value: 9.99, value_usd: 9.99, currency: 'USD', is_proceed: 0, proceeds_rate: 70 },
    price: { value: 9.99, value_usd: 9.99, currency: 'USD' },
    transaction: {
      transaction_id: 1000000000000001,
      original_transaction_id: 1000000000000001,
      transaction_date: EPOCH,
      expires: EPOCH + 7 * 86_400,
      grace_period_expires: null,
    },
    properties: { _q_custom_user_id: 'test-user', _q_email: 'test@example.com' },
    app_version: '1.0.0',
    sdk_version: '1.0.0',
    ip: '192.0.2.1',
    environment: 'production',
    platform: 'iOS',
    event_id: 'test',
    country: 'US',
    locale: 'en_US',
    subscription_group: 'premium',
    user_install_date: EPOCH - 30 * 86_400,
    event_properties: { plan: 'gold', seats: 3 },
  })
})

test('nothing known: texts are empty, objects null, and the rest is left out', () => {
  const unknown = { id: null, name: null, version: null, sdk_version: null }
  const bare = sample({ user: null, transaction: null, money: null, device: NOTHING, app: unknown, platform: null, product_id: null })
  expect(webhookBody({ ...bare, subscription_group: null })).toEqual({
    event_name: 'Renewed',
    ...Object.fromEntries(
      ['user_id', 'custom_user_id', 'identity_id', 'advertiser_id', 'device_id', 'product_id', 'app_version', 'sdk_version'].map(k => [
        k,
        '',
      ]),
    ),
    ip: '',
    platform: '',
    time: EPOCH,
    created_at: EPOCH,
    revenue: null,
    price: null,
    transaction: null,
    properties: {},
    environment: 'production',
    event_id: 'test',
  })
})

test('proceeds, where the configuration asks for them; without a rate there are no dollars', () => {
  const money = { price: '-10.00', currency: 'XAU', proceeds: '-8.50', price_usd: null, proceeds_usd: null }
  expect(webhookBody(sample({ money }, 'proceeds'))).toMatchObject({
    revenue: { value: -8.5, value_usd: null, currency: 'XAU', is_proceed: 1, proceeds_rate: 85 },
    price: { value: -10, value_usd: null, currency: 'XAU' },
  })
  expect(webhookBody(sample({ money: { ...money, proceeds: null } }, 'proceeds')).revenue).toMatchObject({ value: -10, is_proceed: 0 })
})

test.each([
  ['0', 0],
  ['42', 42],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', '9007199254740992'],
  ['0042', '0042'],
  ['GPA.3312-1', 'GPA.3312-1'],
  [null, null],
])('the transaction id %s goes out as %s', (id, sentAs) => {
  const transaction = { ...sample().transaction!, transaction_id: id, original_transaction_id: id }
  expect(webhookBody(sample({ transaction })).transaction).toMatchObject({ transaction_id: sentAs, original_transaction_id: sentAs })
})

test('an automation step says which one it is; a test says so', () => {
  const automation = { id: 'auto_1', version: 2, run_id: 'run_1', step_id: 'hook' }
  expect(webhookBody(sample({ automation }))).toMatchObject({ automation })
  expect(webhookBody(sample({ test: true }))).toMatchObject({ test: true })
})
