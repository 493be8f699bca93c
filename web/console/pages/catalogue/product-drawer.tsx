import { lazy, type ReactNode, Suspense } from 'react'
import type { Product } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Acts, Section, UsedBySection } from './drawer-parts.tsx'
import type { DrawerOf } from './over.tsx'
import { countText, durationText, STORES, type StoreField, typeText } from './words.ts'

const EditProduct = lazy(() => import('./edit-product.tsx'))
const Delete = lazy(() => import('./delete.tsx'))

/** One product: its links to the stores, what names it, and the way to its figures. */
export function ProductDrawer({ id, denied, over, onOver, onClose }: DrawerOf) {
  const input = { path: { product_id: id } }
  const read = useRead('v4GetProduct', input)
  return (
    <Drawer title={<bdi title={id}>{id}</bdi>} onClose={onClose}>
      <DataState of={read} rows={8}>
        {product => (
          <>
            <Acts denied={denied} onOver={onOver} />
            <Pairs
              rows={[
                [t('Id'), <Copy key="id" text={product.id} />],
                [t('Type'), typeText(product.type)],
                [t('Period'), product.duration === null ? undefined : durationText(product.duration)],
                [t('Gives access now'), <Access key="access" of={product.active_purchases} />],
                [t('Changed'), <Time key="changed" at={product.updated_at} />],
                [t('Made'), <Time key="made" at={product.created_at} />],
              ]}
            />
            <Section title={t('In the stores')}>
              <Pairs rows={STORES.flatMap(({ field, text }) => linksIn(product, field, text))} />
            </Section>
            <UsedBySection of={product} none={t('Nothing names it: it gives nothing and is in no offering.')} />
            <div className="catalogue-links">
              <To to="/charts/sales" search={{ 'f.product_id': product.id }} className="chip">
                {t('Its sales')}
              </To>
              <To to="/charts/active-subscriptions" search={{ 'f.product_id': product.id }} className="chip">
                {t('Its subscriptions')}
              </To>
              <ShowTheCall name="v4GetProduct" input={input} />
            </div>
            <Suspense fallback={null}>
              {over === 'edit' && <EditProduct product={product} onClose={() => onOver(undefined)} />}
              {over === 'delete' && (
                <Delete
                  operation="v4DeleteProduct"
                  input={input}
                  id={id}
                  of={product}
                  what={t(
                    'It leaves the lists of entitlements and offerings. Purchases stay as they are, and give no access any more. This cannot be undone.',
                  )}
                  onDone={onClose}
                  onClose={() => onOver(undefined)}
                />
              )}
            </Suspense>
          </>
        )}
      </DataState>
    </Drawer>
  )
}

type Row = readonly [string, ReactNode]
function linksIn(product: Product, field: StoreField, text: string): Row[] {
  const [id, plan] = [product[field], product.google_base_plan_id]
  const own: Row = [text, id === null ? undefined : <Copy key={field} text={id} />]
  if (field !== 'google_product_id' || id === null) return [own]
  return [own, [t('Base plan'), plan === null ? t('every one that no other product names') : <Copy key="plan" text={plan} />]]
}

const Access = ({ of }: { of: { count: number; has_more: boolean } | undefined }) =>
  of === undefined || (of.count === 0 && !of.has_more) ? (
    <span className="faint">{t('to nobody')}</span>
  ) : (
    t(of.count === 1 && !of.has_more ? 'by {n} purchase' : 'by {n} purchases', { n: countText(of) })
  )
