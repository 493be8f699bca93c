import './customer.css'
import './bar.css'
import './timeline.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Page } from '../../parts/page.tsx'
import { t } from '../../parts/t.ts'
import { Access } from './access.tsx'
import { Actions } from './actions.tsx'
import { About, nameOf } from './head.tsx'
import { NoSuchCustomer } from './no-such-customer.tsx'
import { Person } from './person.tsx'
import { Properties } from './properties.tsx'
import { Refused } from './refused.tsx'
import { Subscription } from './subscription.tsx'
import { Timeline } from './timeline.tsx'

/** One person: what was bought, what happened, what they may use now, and how to help. Nothing of one is shown while another is loaded. */
export default function Customer() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  return <One key={id} id={id} />
}

// They are loaded when the first of them opens.
const Drawers = lazy(() => import('./drawers.tsx'))

function One({ id }: { id: string }) {
  const [search] = useAddress()
  const read = useRead('v4GetCustomer', { path: { customer_id: id } }, { topics: ['events'] })
  const view = read.data?.data
  if (read.error?.status === 404) return <NoSuchCustomer id={id} />
  return (
    <Page
      wide
      title={view ? nameOf(view) : t('Customer')}
      about={view ? <About id={id} view={view} /> : <span className="customer-wait"> </span>}
      actions={view && <Actions id={id} view={view} />}
    >
      {read.error && <Fault error={read.error} retry={read.refetch} />}
      {view === undefined ? (
        !read.error && (
          <Card>
            <Bars rows={9} />
          </Card>
        )
      ) : (
        <>
          <Subscription id={id} />
          <div className="grid two start customer-grid">
            <Timeline id={id} />
            <div className="grid customer-side">
              <Access id={id} view={view} />
              <Refused id={id} />
              <Person view={view} />
              <Properties view={view} />
            </div>
          </div>
          <Suspense fallback={null}>{search.at && <Drawers id={id} view={view} at={search.at} />}</Suspense>
        </>
      )}
    </Page>
  )
}
