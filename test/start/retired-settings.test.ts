import { expect, test } from 'vitest'
import { retiredNotes, withPresentNames } from '../../app/retired-settings.ts'

const RETIRED = [
  { name: 'OLD_PORT', since: '0.2.0', use: 'PORT', until: '1.0.0' },
  { name: 'SPEED', since: '0.3.0' },
]

test('a renamed variable keeps its effect, and each retired one that is set is named once', () => {
  expect(withPresentNames({ OLD_PORT: '1', SPEED: '2' }, RETIRED)).toMatchObject({ PORT: '1' })
  expect(withPresentNames({ OLD_PORT: '1', PORT: '3' }, RETIRED)).toMatchObject({ PORT: '3' })
  expect(withPresentNames({ OLD_PORT_FILE: '/a' }, RETIRED)).toMatchObject({ PORT_FILE: '/a' })
  expect(withPresentNames({ OLD_PORT: '1', PORT_FILE: '/a' }, RETIRED)).not.toHaveProperty('PORT')
  expect(retiredNotes({ SPEED_FILE: '/a' }, RETIRED)).toHaveLength(1)
  expect(retiredNotes({ OLD_PORT: '1', SPEED: '2' }, RETIRED)).toEqual([
    'OLD_PORT is retired since 0.2.0: set PORT in its place, 1.0.0 ignores it',
    'SPEED is retired since 0.3.0: it has no effect any more',
  ])
  expect(retiredNotes({ PORT: '1', SPEED: '' }, RETIRED)).toEqual([])
})
