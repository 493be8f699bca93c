import './catalogue.css'
import { Tabs } from '@mantine/core'
import { lazy, type ReactNode, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import type { OperationName } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import ProductsTab from './products-tab.tsx'

const OfferingsTab = lazy(() => import('./offerings-tab.tsx'))
const EntitlementsTab = lazy(() => import('./entitlements-tab.tsx'))
const Over = lazy(() => import('./over.tsx'))

const TABS = {
  products: { text: 'Products', make: 'New product', call: 'v4ListProducts', page: () => <ProductsTab /> },
  offerings: { text: 'Offerings', make: 'New offering', call: 'v4ListOfferings', page: () => <OfferingsTab /> },
  entitlements: { text: 'Entitlements', make: 'New entitlement', call: 'v4ListEntitlements', page: () => <EntitlementsTab /> },
} as const satisfies Record<string, { text: string; make: string; call: OperationName; page: () => ReactNode }>
export type Tab = keyof typeof TABS

/** What is sold, how it is offered, and what it gives. */
export default function Catalogue() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const tab: Tab = search.tab !== undefined && Object.hasOwn(TABS, search.tab) ? (search.tab as Tab) : 'products'
  const make = () => set({ at: 'new', from: undefined }, { push: true })
  useKeys(denied === undefined ? { n: { says: t(TABS[tab].make), run: make } } : {})
  return (
    <Page
      wide
      title={t('Catalogue')}
      about={t('What is sold, how it is offered, and what it gives')}
      actions={
        <>
          <ShowTheCall name={TABS[tab].call} input={{}} />
          <Act denied={denied} size="xs" leftSection={<Icon name="tag" size={14} />} onClick={make}>
            {t(TABS[tab].make)}
          </Act>
        </>
      }
    >
      <Tabs
        value={tab}
        keepMounted={false}
        className="catalogue-tabs"
        onChange={next =>
          set(
            {
              tab: next === 'products' ? undefined : (next ?? undefined),
              at: undefined,
              from: undefined,
              'f.kind': undefined,
              after: undefined,
            },
            { push: true },
          )
        }
      >
        <Tabs.List aria-label={t('Catalogue')}>
          {Object.entries(TABS).map(([name, { text }]) => (
            <Tabs.Tab key={name} value={name}>
              {t(text)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(TABS).map(([name, { page }]) => (
          <Tabs.Panel key={name} value={name}>
            <Suspense fallback={<Bars />}>{page()}</Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
      {search.at !== undefined && (
        <Suspense fallback={null}>
          <Over key={tab} tab={tab} at={search.at} denied={denied} />
        </Suspense>
      )}
    </Page>
  )
}
