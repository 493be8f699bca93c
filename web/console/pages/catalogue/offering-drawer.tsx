import { lazy, Suspense } from 'react'
import { useRead } from '../../data/read.ts'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Acts, Section, UsedBySection } from './drawer-parts.tsx'
import type { DrawerOf } from './over.tsx'
import { SetMain } from './set-main.tsx'

const OfferingForm = lazy(() => import('./offering-form.tsx'))
const Delete = lazy(() => import('./delete.tsx'))

/** One offering: its products in the order in which apps show them. */
export function OfferingDrawer({ id, denied, over, onOver, onClose }: DrawerOf) {
  const input = { path: { offering_id: id } }
  const read = useRead('v4GetOffering', input)
  return (
    <Drawer title={<bdi title={id}>{id}</bdi>} onClose={onClose}>
      <DataState of={read} rows={8}>
        {offering => (
          <>
            <Acts denied={denied} onOver={onOver}>
              {offering.tag !== 1 && <SetMain id={id} denied={denied} />}
            </Acts>
            <Pairs
              rows={[
                [t('Id'), <Copy key="id" text={id} />],
                [t('Main'), offering.tag === 1 ? <StatusChip key="main" status="main" tone="good" label={t('Main')} /> : t('no')],
                [t('Changed'), <Time key="changed" at={offering.updated_at} />],
                [t('Made'), <Time key="made" at={offering.created_at} />],
              ]}
            />
            <Section title={t('Products, in their order')}>
              {offering.product_ids.length === 0 ? (
                <p className="soft catalogue-none">{t('It has no product: apps have nothing to show.')}</p>
              ) : (
                <ol className="catalogue-ordered">
                  {offering.product_ids.map(product => (
                    <li key={product}>
                      <To to="/catalogue" search={{ at: `one.${product}` }} className="link catalogue-link">
                        <bdi title={product}>{product}</bdi>
                      </To>
                    </li>
                  ))}
                </ol>
              )}
            </Section>
            <UsedBySection of={offering} none={t('No experiment has a group with a copy of it.')} />
            <div className="catalogue-links">
              <ShowTheCall name="v4GetOffering" input={input} />
            </div>
            <Suspense fallback={null}>
              {over === 'edit' && <OfferingForm offering={offering} onClose={() => onOver(undefined)} onDone={() => onOver(undefined)} />}
              {over === 'delete' && (
                <Delete
                  operation="v4DeleteOffering"
                  input={input}
                  id={id}
                  of={offering}
                  what={t('Apps that ask for it by its id find nothing. Its products stay. This cannot be undone.')}
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
