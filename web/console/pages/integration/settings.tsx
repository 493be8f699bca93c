import { lazy, Suspense } from 'react'
import type { Integration, IntegrationConfig } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { ConfigForm } from './config-form.tsx'
import type { Provider } from './fields.ts'

const RotateSigning = lazy(() => import('./rotate-signing.tsx'))
const DeleteIntegration = lazy(() => import('./delete-integration.tsx'))

/** How the integration is set: where it sends, with which secrets, which events under which names. */
export default function Settings({ of: integration }: { of: Integration }) {
  const config = useRead('v4GetIntegrationConfig', { path: { integration_id: integration.id } })
  const meta = useRead('v4GetIntegrationsMeta', {})
  const provider = meta.data?.data.flatMap(({ items }) => items).find(({ slug }) => slug === config.data?.integration)
  const both = config.data && provider ? { config: config.data, provider } : undefined
  const failed = config.isError ? config : meta
  return (
    <DataState of={{ ...failed, data: both }} rows={8}>
      {({ config, provider }) => <Shown integration={integration} config={config} provider={provider} />}
    </DataState>
  )
}

function Shown({ integration, config, provider }: { integration: Integration; config: IntegrationConfig; provider: Provider }) {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { path: { integration_id: integration.id } }
  const signs = provider.settings.some(({ name }) => name === 'signing_secret')
  const hasSecret = config.settings.has_signing_secret === true
  return (
    <div className="grid two start">
      <Card title={t('Settings')} right={<ShowTheCall name="v4GetIntegrationConfig" input={input} />}>
        <ConfigForm key={integration.id} integration={integration} config={config} provider={provider} denied={denied} />
      </Card>
      <div className="integration-side">
        <Card title={t('This integration')}>
          <Pairs
            rows={[
              [t('Provider'), integration.integration],
              [t('Platform'), integration.target_platform],
              [t('Created'), <Time key="created" at={integration.created_at} />],
              [t('Settings saved'), <Time key="saved" at={config.updated_at} />],
              [t('Id'), <Copy key="id" text={integration.id} />],
            ]}
          />
        </Card>
        {signs && (
          <Card title={t('Signing secret')}>
            <p className="soft integration-note">
              {hasSecret
                ? t('Each webhook is signed with it. After a change the former one signs too for 24 hours, so that your server has time.')
                : t('The first save makes one. It is shown once.')}
            </p>
            <Act
              denied={denied ?? (hasSecret ? undefined : t('There is none yet.'))}
              size="xs"
              variant="default"
              onClick={() => set({ at: 'rotate' }, { push: true })}
            >
              {t('Replace it')}
            </Act>
          </Card>
        )}
        <Card title={t('Delete')}>
          <p className="soft integration-note">{t('Nothing is sent any more, and what is held fails. This cannot be undone.')}</p>
          <Act denied={denied} size="xs" variant="default" onClick={() => set({ at: 'delete' }, { push: true })}>
            {t('Delete this integration')}
          </Act>
        </Card>
      </div>
      <Suspense fallback={null}>
        {search.at === 'rotate' && denied === undefined && (
          <RotateSigning config={config} known={provider.settings} onClose={() => set({ at: undefined })} />
        )}
        {search.at === 'delete' && denied === undefined && <DeleteIntegration of={integration} onClose={() => set({ at: undefined })} />}
      </Suspense>
    </div>
  )
}
