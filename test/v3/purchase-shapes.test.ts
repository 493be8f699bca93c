// Purchases of apps that are refused for their shape, or for the product that they name.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product } from '../harness/purchases.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
  const { sandbox } = api.project
  await product(api, { id: 'monthly', apple_product_id: 'm', stripe_product_id: 'm', paddle_product_id: 'm' }, sandbox)
  await product(api, { id: 'coins', type: 'consumable', duration: undefined, paddle_product_id: 'c' }, sandbox)
})
afterAll(() => api.stop())

const buy = (user: string, body: object) => v3('POST', `/v3/users/${user}/purchases`, { body })
const paid = { price: '5.01', currency: 'eur' }
const apple = () => ({ app_store_data: { transaction_id: unique('t'), product_id: 'm' } })
const invalid = (message: string, ...fields: [string, string][]) =>
  v3Error(
    api,
    'request',
    'invalid_data',
    message,
    fields.map(([name, text]) => ({ name, messages: [text] })),
  )
const DEFAULT = 'Failed validate request data'

const data = { subscription_id: 's', product_id: 'm' }
const ONE_STORE = 'must have exactly one of app_store_data, play_store_data, stripe_store_data, paddle_store_data'
test.each([
  ['no store object', { ...paid }, ['body', ONE_STORE]],
  ['two store objects', { ...paid, stripe_store_data: data, ...apple() }, ['body', ONE_STORE]],
  ['no store object and no price', {}, ['body', ONE_STORE]],
  ['a store object that is none', { ...paid, stripe_store_data: 'x' }, ['stripe_store_data', 'must be object']],
  ['a field is missing', { ...paid, stripe_store_data: { product_id: 'm' } }, ['stripe_store_data.subscription_id', 'is required']],
  [
    'a field is too long',
    { ...paid, stripe_store_data: { ...data, subscription_id: 'x'.repeat(256) } },
    ['stripe_store_data.subscription_id', 'must have at most 255 characters'],
  ],
  ['ids without a product', { ...paid, app_store_data: { transaction_id: '1' } }, ['app_store_data.product_id', 'is required']],
  [
    'ids beside what is signed',
    { ...paid, app_store_data: { transaction_id: '1', signed_transaction: 'x' } },
    ['app_store_data', 'takes either signed_transaction alone or the other fields'],
  ],
  [
    "Paddle's subscription without its id",
    { ...paid, paddle_store_data: { transaction_id: '1', product_id: 'm', type: 'subscription' } },
    ['paddle_store_data.subscription_id', 'is required for a subscription'],
  ],
  [
    "Paddle's single sale with the id of a subscription",
    { ...paid, paddle_store_data: { transaction_id: '1', product_id: 'c', type: 'non_recurring', subscription_id: 's' } },
    ['paddle_store_data.subscription_id', 'is not allowed for a non-recurring transaction'],
  ],
  ['a negative time', { ...paid, ...apple(), purchased: -1 }, ['purchased', 'must be >= 0']],
  ['a time as text', { ...paid, ...apple(), purchased: '1' }, ['purchased', 'must be integer']],
] as [string, object, [string, string]][])('%s', async (_, body, field) => {
  const answer = await buy('nobody', body)
  expect([answer.status, answer.body]).toEqual([400, invalid(DEFAULT, field)])
})

test.each([
  ['5,01'],
  ['-1'],
  ['1e3'],
  ['.5'],
  ['1.'],
  ['1234567890123'],
  ['1.1234567'],
  [''],
  [5.01],
  [undefined],
  [null],
])('the price %s', async price => {
  const answer = await buy('nobody', { ...apple(), currency: 'nonsense', price })
  expect([answer.status, answer.body]).toEqual([400, invalid('failed to parse price', ['price', 'failed to parse price'])])
})

test.each([['EURRR'], ['XXQ'], [''], [978], [undefined], [null]])('the currency %s', async currency => {
  const answer = await buy('nobody', { ...apple(), price: '1', currency })
  const message = 'failed to recognize currency'
  expect([answer.status, answer.body]).toEqual([400, invalid(message, ['currency', message])])
})

test('an unknown user comes after the shape and before the product', async () => {
  const answer = await buy('nobody', { ...paid, app_store_data: { transaction_id: '1', product_id: 'unlinked' } })
  expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
})

test.each([
  ['unlinked', 'is linked by no product'],
  ['with space', expect.stringMatching(/./)],
])('the product "%s" is the wrong one while no store confirms it', async (product_id, message) => {
  const user = await v3User(v3, 'sandbox')
  const answer = await buy(user, { ...paid, app_store_data: { transaction_id: '1', product_id } })
  const { error, _meta } = invalid(DEFAULT, ['app_store_data.product_id', message])
  expect([answer.status, answer.body.error, answer.body._meta.fields]).toEqual([400, error, _meta.fields])
  expect((await api.call('GET', `/v4/users/${user}/purchases`, { key: api.project.sandbox })).body.data).toEqual([])
})

test('a subscription of a one-time product names the product', async () => {
  const user = await v3User(v3, 'sandbox')
  const answer = await buy(user, {
    ...paid,
    paddle_store_data: { transaction_id: unique('t'), product_id: 'c', type: 'subscription', subscription_id: 's' },
  })
  expect([answer.status, answer.body._meta.fields]).toEqual([
    400,
    [{ name: 'paddle_store_data.product_id', messages: ['is a one-time product, but the purchase is a subscription'] }],
  ])
})
