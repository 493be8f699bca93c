import { expect, test } from 'vitest'
import { messageOf } from '../../workflows/engine/policy.ts'

class Mute extends Error {}

test('an error without a message is shown by its class, that of its cause and what was done', () => {
  expect(messageOf(new Mute())).toBe('Mute')
  expect(messageOf(new Mute('', { cause: new RangeError('1.2.3') }))).toBe('Mute (RangeError)')
  expect(messageOf(new Mute(), 'reading the notification')).toBe('Mute while reading the notification')
  expect(messageOf(new Mute('it says so'), 'reading the notification')).toBe('it says so')
})
