// Compile-time only: `tsc` fails here when the types of the TypeScript client lose precision.
import {
  type Answer,
  all,
  type DryRun,
  dryRun,
  type EntitlementInput,
  type Operations,
  type Product,
  type ProductInput,
  type ProductList,
} from '../../clients/typescript/src/index.ts'
import type { OperationId } from '../../schemas/generated/operations.ts'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <_A, _B>(_proof: Same<_A, _B>) => undefined
type CallOf<Id extends keyof Operations> = NonNullable<Parameters<Operations[Id]>[0]>

export const proofs = () => {
  same<OperationId extends keyof Operations ? true : false, true>(true)
  same<ReturnType<Operations['v4CreateProduct']>, Answer<Product>>(true)
  same<ReturnType<Operations['v4ListProducts']>, Answer<ProductList>>(true)
  same<ReturnType<Operations['v4DeleteProduct']>, Answer<void>>(true)
  same<CallOf<'v4CreateProduct'>['body'], ProductInput>(true)
  same<CallOf<'v4GetUser'>['path'], { user_id: string }>(true)
  same<CallOf<'v4GetUser'>['query'], undefined>(true)
  same<NonNullable<CallOf<'v4CreateProduct'>['headers']>['Idempotency-Key'], string | undefined>(true)
  same<'Idempotency-Key' extends keyof NonNullable<CallOf<'v4GetUser'>['headers']> ? true : false, false>(true)
  same<Product['duration'], string | null>(true)
  same<EntitlementInput['id'], string>(true)
}

export const uses = async (api: Operations) => {
  await api.v4ListProducts()
  await api.v4ListProducts({ query: { 'filter[type]': ['lifetime'], limit: 5 }, signal: AbortSignal.timeout(1000) })
  same<Awaited<ReturnType<ReturnType<Operations['v4GetProduct']>['withResponse']>>, { data: Product; response: Response }>(true)
  for await (const product of all(api.v4ListProducts)) same<typeof product, Product>(true)
  for await (const product of all(api.v4ListProducts, { query: { 'filter[type]': ['lifetime'] } })) same<typeof product, Product>(true)
}

export const trials = async (api: Operations) => {
  same<Awaited<ReturnType<typeof tried>>, DryRun>(true)
  const tried = () => dryRun(api.v4DeleteProduct, { path: { product_id: 'a' } })
  const batch = await dryRun(api.v4CreateEvents, { body: { events: [] } })
  same<(typeof batch)['object'], 'event_batch'>(true)
  // @ts-expect-error changes nothing
  dryRun(api.v4GetProduct, { path: { product_id: 'a' } })
  // @ts-expect-error a path is needed
  dryRun(api.v4DeleteProduct, {})
}

export const refusals = async (api: Operations) => {
  // @ts-expect-error a path is needed
  await api.v4GetUser()
  // @ts-expect-error no such parameter
  await api.v4GetUser({ path: { user_id: 'a', id: 'b' } })
  // @ts-expect-error a body is needed
  await api.v4CreateProduct({})
  // @ts-expect-error no such type
  await api.v4CreateProduct({ body: { id: 'a', type: 'weekly' } })
  // @ts-expect-error no such filter
  await api.v4ListProducts({ query: { type: ['lifetime'] } })
  // @ts-expect-error takes no key
  await api.v4GetUser({ path: { user_id: 'a' }, headers: { 'Idempotency-Key': 'a' } })
  // @ts-expect-error the user of the list is missing
  all(api.v4ListUserPurchases)
  // @ts-expect-error pages by offset alone: it would end after one page
  all(api.v4ListScheduledReports)
}
