import './integrations.css'
import { lazy, Suspense } from 'react'
import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { step } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { Trouble } from './trouble.tsx'
import { heldText, stateOf } from './words.ts'

const NewIntegration = lazy(() => import('./new-integration.tsx'))

/** Where events go, and whether they arrive. */
export default function Integrations() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const read = useRead('v4ListIntegrations', {}, { topics: ['deliveries'], every: 30_000 })
  useKeys({ j: { says: t('Next integration'), run: () => step(1) }, k: { says: t('Previous integration'), run: () => step(-1) } })
  const create = (
    <Act denied={denied} size="xs" leftSection={<Icon name="plug" size={14} />} onClick={() => set({ at: 'new' }, { push: true })}>
      {t('New integration')}
    </Act>
  )
  const hasSome = read.data !== undefined && read.data.data.length > 0
  return (
    <Page
      wide
      title={t('Integrations')}
      about={t('Where events go, and what became of each')}
      actions={
        <>
          <ShowTheCall name="v4ListIntegrations" input={{}} />
          {hasSome && create}
        </>
      }
    >
      <DataState
        of={read}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <section className="card">
            <Empty
              icon="plug"
              title={t('No integration yet')}
              why={t(
                'A webhook or a provider gets each event as it happens, in the order of its user. It needs a title, its settings, and a start.',
              )}
              action={create}
              curl={CURL()}
            />
          </section>
        }
      >
        {({ data }) => (
          <>
            {data
              .filter(({ active }) => active === 2)
              .map(one => (
                <Trouble key={one.id} of={one} isLink />
              ))}
            <ul className="integrations">
              {data.map(one => (
                <li key={one.id}>
                  <IntegrationCard of={one} />
                </li>
              ))}
            </ul>
          </>
        )}
      </DataState>
      <Suspense fallback={null}>
        {search.at === 'new' && denied === undefined && <NewIntegration onClose={() => set({ at: undefined })} />}
      </Suspense>
    </Page>
  )
}

const CURL = () =>
  `curl -X POST "${location.origin}/v4/integrations" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '{"title":"Billing service","integration":"webhooks","target_platform":"iOS"}'`

function IntegrationCard({ of: one }: { of: Integration }) {
  const { id, title, integration, target_platform, last_delivery_at, held, lag_seconds } = one
  return (
    <To to={`/integrations/${id}`} className="card integration-card" data-row>
      <span className="integration-head">
        <b title={title}>{title}</b>
        <StatusChip {...stateOf(one)} />
      </span>
      <span className="soft">
        {integration} · {target_platform}
      </span>
      <dl>
        <div>
          <dt>{t('Last delivery')}</dt>
          <dd>{last_delivery_at === null ? t('none yet') : <Time at={last_delivery_at} relative />}</dd>
        </div>
        <div>
          <dt>{t('Held')}</dt>
          <dd className={held > 0 ? 'warn-text' : undefined}>{heldText(held)}</dd>
        </div>
        <div>
          <dt>{t('Lag')}</dt>
          <dd>{lag_seconds === 0 ? t('none') : span(lag_seconds * 1_000)}</dd>
        </div>
      </dl>
    </To>
  )
}
