import './over.css'
import { lazy, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import { EntitlementDrawer } from './entitlement-drawer.tsx'
import type { Tab } from './index.tsx'
import { OfferingDrawer } from './offering-drawer.tsx'
import { ProductDrawer } from './product-drawer.tsx'

const NewProduct = lazy(() => import('./new-product.tsx'))
const OfferingForm = lazy(() => import('./offering-form.tsx'))
const EntitlementForm = lazy(() => import('./entitlement-form.tsx'))

const DRAWERS = { products: ProductDrawer, offerings: OfferingDrawer, entitlements: EntitlementDrawer }
const FORMS = { products: NewProduct, offerings: OfferingForm, entitlements: EntitlementForm }

/** What `at` opens over the lists: `new`, or `one.ID`, `edit.ID` and `delete.ID`. */
export default function Over({ tab, at, denied }: { tab: Tab; at: string; denied: string | undefined }) {
  const [, set] = useAddress()
  const close = () => set({ at: undefined, from: undefined })
  const [, what, id] = /^(one|edit|delete)\.(.+)$/s.exec(at) ?? []
  const Drawer = DRAWERS[tab]
  const Form = FORMS[tab]
  if (at === 'new')
    return denied === undefined ? (
      <Suspense fallback={null}>
        <Form onClose={close} onDone={made => set({ at: `one.${made}`, from: undefined })} />
      </Suspense>
    ) : null
  if (id === undefined) return null
  return (
    <Drawer
      key={id}
      id={id}
      denied={denied}
      over={what === 'one' || denied !== undefined ? undefined : (what as 'edit' | 'delete')}
      onOver={over => set({ at: `${over ?? 'one'}.${id}` }, { push: over !== undefined })}
      onClose={close}
    />
  )
}

export type DrawerOf = {
  id: string
  denied: string | undefined
  /** What is open over the drawer. */
  over: 'edit' | 'delete' | undefined
  onOver: (over: 'edit' | 'delete' | undefined) => void
  onClose: () => void
}
