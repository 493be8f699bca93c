import type { Product } from '../../../../clients/typescript/src/index.ts'
import { t } from '../../parts/t.ts'
import { durationText, isSubscription, type Links, storeIds, type Type, typeText } from './words.ts'

/** What is typed of a product. `type` empty: an imported row without one. */
export type Draft = { type: Type | ''; duration: string } & Record<keyof Links, string>

const LINKS = ['apple_product_id', 'google_product_id', 'google_base_plan_id', 'stripe_product_id', 'paddle_product_id'] as const

export const newDraft = (links: Partial<Links> = {}): Draft => ({
  ...{ type: 'subscription', duration: 'P1M' },
  ...{ apple_product_id: '', google_product_id: '', google_base_plan_id: '', stripe_product_id: '', paddle_product_id: '' },
  ...(Object.fromEntries(Object.entries(links).filter(([, value]) => value !== null)) as Partial<Record<keyof Links, string>>),
})

export const draftOf = (product: Product): Draft => ({
  type: (product.type ?? '') as Draft['type'],
  duration: product.duration ?? '',
  ...(Object.fromEntries(LINKS.map(field => [field, product[field] ?? ''])) as Record<keyof Links, string>),
})

const textOrNull = (text: string) => text.trim() || null

/** The fields as they would be stored. */
export const fieldsOf = (draft: Draft) => ({
  type: draft.type as Type,
  // A product without a type is a subscription where it has a period.
  duration: draft.type === '' || isSubscription(draft.type) ? textOrNull(draft.duration) : null,
  ...(Object.fromEntries(LINKS.map(field => [field, textOrNull(draft[field])])) as Links),
})

/** The fields that are not as they were. */
export function changedFields(before: Product, draft: Draft): Partial<ReturnType<typeof fieldsOf>> {
  const fields = fieldsOf(draft)
  const was = before as unknown as Record<string, unknown>
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== (was[name] ?? (name === 'type' ? '' : null))))
}

/** What somebody compares when another one has changed the product meanwhile. */
export const inWords = (product: Product) => ({
  type: typeText(product.type),
  duration: product.duration === null ? null : durationText(product.duration),
  stores: storeIds(product)
    .map(({ text, id }) => `${text} ${id}`)
    .join(', '),
})
export const FIELDS = { type: t('Type'), duration: t('Period'), stores: t('In the stores') }
