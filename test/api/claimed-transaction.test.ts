import { expect, test } from 'vitest'
import { claimedIn } from '../../api/claimed-transaction.ts'

test.each([
  ['com.shop.pro_monthly:p1m-auto', 'com.shop.pro_monthly:p1m-auto'],
  ['p'.repeat(150), 'p'.repeat(150)],
  ['p'.repeat(151), null],
  ['jane@shop.example', null],
  ['two words', null],
  ['a\0b', null],
])('a product is kept in the form that stores give it: %j', (product_id, kept) => {
  expect(claimedIn({ stripe_store_data: { product_id } }).product).toBe(kept)
})
