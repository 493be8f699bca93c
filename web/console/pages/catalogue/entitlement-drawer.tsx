import { lazy, Suspense } from 'react'
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
import { countText } from './words.ts'

const EntitlementForm = lazy(() => import('./entitlement-form.tsx'))
const Delete = lazy(() => import('./delete.tsx'))

type Count = { count: number; has_more: boolean } | undefined
const shown = (count: Count) =>
  count === undefined || (count.count === 0 && !count.has_more) ? <span className="faint">{t('none')}</span> : countText(count)

/** One entitlement: what gives it, and to how many now. */
export function EntitlementDrawer({ id, denied, over, onOver, onClose }: DrawerOf) {
  const input = { path: { entitlement_id: id } }
  const read = useRead('v4GetEntitlement', input)
  return (
    <Drawer title={<bdi title={id}>{id}</bdi>} onClose={onClose}>
      <DataState of={read} rows={8}>
        {entitlement => (
          <>
            <Acts denied={denied} onOver={onOver} />
            {entitlement.description && <p className="catalogue-description">{entitlement.description}</p>}
            <Pairs
              rows={[
                [t('Id'), <Copy key="id" text={id} />],
                [t('Purchases that give it now'), shown(entitlement.active_purchases)],
                [t('People who have it by hand'), shown(entitlement.active_grants)],
                [t('Changed'), <Time key="changed" at={entitlement.updated_at} />],
                [t('Made'), <Time key="made" at={entitlement.created_at} />],
              ]}
            />
            <Section title={t('Products that give it')}>
              {entitlement.product_ids.length === 0 ? (
                <p className="soft catalogue-none">{t('None: people get it by hand or by automations alone.')}</p>
              ) : (
                <ul className="catalogue-ordered">
                  {entitlement.product_ids.map(product => (
                    <li key={product}>
                      <To to="/catalogue" search={{ at: `one.${product}` }} className="link catalogue-link">
                        <bdi title={product}>{product}</bdi>
                      </To>
                    </li>
                  ))}
                </ul>
              )}
            </Section>
            <UsedBySection of={entitlement} none={t('No automation gives it, and no condition asks for it.')} />
            <div className="catalogue-links">
              <ShowTheCall name="v4GetEntitlement" input={input} />
            </div>
            <Suspense fallback={null}>
              {over === 'edit' && (
                <EntitlementForm entitlement={entitlement} onClose={() => onOver(undefined)} onDone={() => onOver(undefined)} />
              )}
              {over === 'delete' && (
                <Delete
                  operation="v4DeleteEntitlement"
                  input={input}
                  id={id}
                  of={entitlement}
                  what={t('Access that has ended goes with it, and apps no longer find it. This cannot be undone.')}
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
