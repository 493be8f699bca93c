import { expect, test } from 'vitest'
import { storeWord } from '../../../workflows/stores/store-word.ts'

test('a code is short, and of few characters', () => {
  expect(storeWord('http_404_resource_missing')).toEqual({ code: 'http_404_resource_missing' })
  expect(storeWord(`http_400_a b\n<c>${'x'.repeat(100)}`).code).toMatch(/^http_400_a_b__c_x{64}$/)
})

test('a message has no token, key or e-mail address', () => {
  const { message } = storeWord('http_404', `No such customer: <jane.doe+1@shop.example>, key sk_live_123, token ${'t'.repeat(80)}`)
  expect(message).toBe('No such customer: <…>, key …, token …')
})
