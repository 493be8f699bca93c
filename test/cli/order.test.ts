import { expect, test } from 'vitest'
import { inReferenceOrder } from '../../store/dump/catalogue.ts'

test('parents come before children, by name where there is a choice', () => {
  const references = [
    { child: 'a', parent: 'z' },
    { child: 'z', parent: 'm' },
    { child: 'b', parent: 'm' },
    { child: 'b', parent: 'b' },
  ]
  expect(inReferenceOrder(['a', 'b', 'c', 'm', 'z'], references)).toEqual(['c', 'm', 'b', 'z', 'a'])
})

test('a circle is reported', () => {
  const references = [
    { child: 'a', parent: 'b' },
    { child: 'b', parent: 'a' },
  ]
  expect(() => inReferenceOrder(['a', 'b', 'c'], references)).toThrow('the tables a, b refer to each other in a circle')
})
