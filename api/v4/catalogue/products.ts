import { deleteProduct } from '../../../domain/catalogue/products/delete.ts'
import type { Product } from '../../../domain/catalogue/products/product.ts'
import { createProduct, getProduct, listProducts, updateProduct } from '../../../domain/catalogue/products/product.ts'
import { PRODUCT_COUNTS, PRODUCT_USES } from '../../../domain/catalogue/products/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { readUses } from '../../../domain/kernel/references/uses.ts'
import { listUnmapped } from '../../../domain/purchases/unmapped.ts'
import type { Db } from '../../../store/connect.ts'
import { expensiveRead, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { countOf, usedBy, type Viewed } from '../../uses.ts'

const product = ({ id, ...facts }: Product) => ({ object: 'product' as const, id, url: `/v4/products/${encodeURIComponent(id)}`, ...facts })

/** With what names it, as the answers about one alone have it. */
async function withUses(db: Db, { principal, environment }: Viewed, shown: ReturnType<typeof product>) {
  const uses = await readUses(db, environment, shown.id, PRODUCT_USES, PRODUCT_COUNTS)
  return { ...shown, ...usedBy(uses, principal.scopes), active_purchases: countOf(uses.active_purchases) }
}

export const v4ListProducts = onPool('v4ListProducts', async ({ query, environment, db }) => {
  const { limit, starting_after: after, 'filter[type]': types } = query
  const { rows, restarted } = await listProducts(db, environment, { limit, after, types })
  return { body: cursorPage({ url: '/v4/products', rows, limit, item: product }), headers: restartedHeader(restarted) }
})

export const v4CreateProduct = inTransaction('v4CreateProduct', async call => {
  const { body, environment, trail, tx } = call
  const {
    id,
    type,
    duration = null,
    apple_product_id = null,
    google_product_id = null,
    google_base_plan_id = null,
    stripe_product_id = null,
    paddle_product_id = null,
  } = body
  const links = { apple_product_id, google_product_id, google_base_plan_id, stripe_product_id, paddle_product_id }
  const made = product(await createProduct(tx, environment, id, { type, duration, ...links }))
  await audit(tx, trail, { resource: 'product', id, after: made })
  return { body: await withUses(tx, call, made) }
})

export const v4GetProduct = onPool('v4GetProduct', async call => ({
  body: await withUses(call.db, call, product(await getProduct(call.db, call.environment, call.path.product_id))),
}))

export const v4UpdateProduct = inTransaction('v4UpdateProduct', async call => {
  const { path, body, environment, trail, tx } = call
  const { before, after } = await updateProduct(tx, environment, path.product_id, body)
  if (!after) return { body: await withUses(tx, call, product(before)) }
  await audit(tx, trail, { resource: 'product', id: before.id, before: product(before), after: product(after) })
  return { body: await withUses(tx, call, product(after)) }
})

export const v4DeleteProduct = inTransaction('v4DeleteProduct', async ({ path, environment, trail, tx }) => {
  const gone = await deleteProduct(tx, environment, path.product_id)
  await audit(tx, trail, { resource: 'product', id: gone.id, before: product(gone) })
  return { body: undefined }
})

export const v4ListUnmappedProducts = expensiveRead('v4ListUnmappedProducts', async ({ query, environment, db }) => {
  const { limit, starting_after: after } = query
  const { rows, next, restarted } = await listUnmapped(db, environment, { limit, after })
  const data = rows.map(({ id, more, ...row }) => ({ object: 'unmapped_product' as const, id, ...row, has_more: more }))
  const list = { object: 'list' as const, url: '/v4/unmapped-products' as const, data }
  const body = next === null ? { ...list, has_more: false } : { ...list, has_more: true, next_cursor: next }
  return { body, headers: restartedHeader(restarted) }
})
