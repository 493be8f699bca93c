// What the pages of growth make of what they are given, as functions.
import { describe, expect, test } from 'vitest'
import type { UnmappedProduct } from '../../../clients/typescript/src/index.ts'
import { newDraft } from '../../../web/console/pages/catalogue/draft.ts'
import { linkOf } from '../../../web/console/pages/catalogue/words.ts'
import { bodyOf, isReady, NEW } from '../../../web/console/pages/pushes/draft.ts'
import { piecesOf } from '../../../web/console/pages/screen/markup.ts'

describe('a product of a store that is linked', () => {
  const sold = (platform: string, base_plan_id: string | null) =>
    ({ id: 'x', platform, store_product_id: 'pro', base_plan_id }) as unknown as UnmappedProduct

  test('without a base plan takes away the one that the product has: with it nothing would be linked', () => {
    expect(linkOf(sold('play_store', null))).toEqual({ google_product_id: 'pro', google_base_plan_id: null })
    expect(linkOf(sold('play_store', 'monthly'))).toEqual({ google_product_id: 'pro', google_base_plan_id: 'monthly' })
    expect(linkOf(sold('app_store', null))).toEqual({ apple_product_id: 'pro' })
  })

  test('begins a form whose fields are texts', () => {
    expect(newDraft(linkOf(sold('play_store', null)))).toMatchObject({ google_product_id: 'pro', google_base_plan_id: '' })
  })
})

test('a push with a value that has no name is not saved without it', () => {
  const draft = { ...NEW, name: 'Win back', body: 'Come back' }
  expect(isReady({ ...draft, data: [['', 'spring']] })).toBe(false)
  expect(isReady({ ...draft, data: [['', '']] })).toBe(true)
  expect(
    bodyOf({
      ...draft,
      data: [
        ['offer', 'spring'],
        ['', ''],
      ],
    }).data,
  ).toEqual({ offer: 'spring' })
})

describe('the pieces of a source', () => {
  test('are names, texts, tags and remarks', () => {
    const source = '<a data-x="1" href=\'y\'><!-- no --></a>'
    const pieces = piecesOf(source, 'html').map(({ from, to, role }) => [role, source.slice(from, to)])
    expect(pieces).toEqual([
      ['mark', '<a'],
      ['name', 'data-x'],
      ['text', '"1"'],
      ['name', 'href'],
      ['text', "'y'"],
      ['mark', '>'],
      ['remark', '<!-- no -->'],
      ['mark', '</a'],
      ['mark', '>'],
    ])
  })

  // From each of its letters to its end, that took minutes.
  test('of a word of half a million letters are found at once', () => {
    const begun = performance.now()
    expect(piecesOf(`<p>${'a'.repeat(500_000)}</p>`, 'html')).toHaveLength(4)
    expect(performance.now() - begun).toBeLessThan(2_000)
  })
})
