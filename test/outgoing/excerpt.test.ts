import fc from 'fast-check'
import { expect, test } from 'vitest'
import { excerpt } from '../../workflows/outgoing/response.ts'

test('what is kept of an answer is at most 1,024 characters that Postgres takes as text and as JSON', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\ud83d', '😀')), maxLength: 2000 }),
      text => {
        const kept = excerpt(text)
        expect(kept.length).toBeLessThanOrEqual(1024)
        expect(kept.includes('\0')).toBe(false)
        expect(kept.isWellFormed()).toBe(true)
      },
    ),
  )
  expect(excerpt(`${'x'.repeat(1023)}😀`)).toBe(`${'x'.repeat(1023)}\ufffd`)
  expect(excerpt('ok')).toBe('ok')
})
