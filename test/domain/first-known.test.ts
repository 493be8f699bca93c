import { expect, test } from 'vitest'
import { TRAIT_FIELDS, type UserTraits, updateOrigin, updateTraits } from '../../domain/events/traits.ts'

const nothing = () => Object.fromEntries(TRAIT_FIELDS.map(field => [field, null])) as unknown as UserTraits

test('the platform of the oldest event is the first known, also when a newer one said the same before', () => {
  const traits = nothing()
  updateOrigin(traits, { platform: 'iOS' }, 30)
  updateOrigin(traits, { platform: 'iOS' }, 10)
  updateOrigin(traits, { platform: 'Paddle' }, 20)
  expect(traits.first_platform).toBe('iOS')
})

test('the media source of the oldest event is the first known, also when a newer one said the same before', () => {
  const traits = nothing()
  const said = (media_source: string) =>
    ({ platform: null, attribution: { media_source } }) as unknown as Parameters<typeof updateTraits>[1]
  updateTraits(traits, said('Search'), 30)
  updateTraits(traits, said('Search'), 10)
  updateTraits(traits, said('Friends'), 20)
  expect(traits.media_source).toBe('Search')
})
