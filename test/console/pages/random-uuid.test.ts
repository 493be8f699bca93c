import { expect, test } from 'vitest'
import { addRandomUuid } from '../../../web/console/data/random-uuid.ts'

test('forms have keys of their own also in a browser that has no randomUUID', () => {
  const bare: { getRandomValues: Crypto['getRandomValues']; randomUUID?: () => string } = {
    getRandomValues: array => crypto.getRandomValues(array),
  }
  addRandomUuid(bare as never)
  const made = Array.from({ length: 1_000 }, () => bare.randomUUID!())
  expect(new Set(made).size).toBe(1_000)
  for (const one of made) expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('the own one of a browser stays', () => {
  const randomUUID = () => '00000000-0000-4000-8000-000000000000' as const
  const own = { getRandomValues: crypto.getRandomValues, randomUUID }
  addRandomUuid(own)
  expect(own.randomUUID).toBe(randomUUID)
})
