import { lazy, Suspense, useState } from 'react'
import type { ProjectSettings } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { t } from '../../parts/t.ts'

const EditProject = lazy(() => import('./edit-project.tsx'))
const RotateSecret = lazy(() => import('./rotate-secret.tsx'))

/** Name, forwarding of the pushes of stores, the three keys, and the policies that the command line sets. */
export default function ProjectTab() {
  const read = useRead('v4GetProjectSettings', {})
  return (
    <div className="grid half start">
      <DataState of={read} rows={5}>
        {settings => <Shown settings={settings} />}
      </DataState>
      <Policies />
    </div>
  )
}

function Shown({ settings }: { settings: ProjectSettings }) {
  const denied = useDenied('admin', usePlace()?.project)
  const [open, setOpen] = useState<'edit' | 'rotate'>()
  const close = () => setOpen(undefined)
  useKeys({ e: { says: t('Edit the project'), run: () => denied === undefined && setOpen('edit') } })
  return (
    <div className="settings-cards">
      <Card
        title={t('Project')}
        right={
          <Act denied={denied} size="xs" variant="default" onClick={() => setOpen('edit')}>
            {t('Edit')}
          </Act>
        }
      >
        <Pairs
          rows={[
            [t('Name'), settings.project_name],
            [t('Pushes of Apple go on to'), settings.proxy_url ?? undefined],
            [t('Pushes of Google go on to'), settings.rtdn_proxy_url ?? undefined],
          ]}
        />
      </Card>
      <Card
        title={t('Keys of the project')}
        right={
          <Act denied={denied} size="xs" variant="default" leftSection={<Icon name="retry" size={13} />} onClick={() => setOpen('rotate')}>
            {t('Replace the Secret Key')}
          </Act>
        }
      >
        <Pairs
          rows={[
            [t('Secret Key, for servers'), <code key="secret">{settings.secret_key}</code>],
            [t('Project Key, in apps'), <code key="project">{settings.access_token}</code>],
            [t('API key, of old addresses'), <code key="api">{settings.api_key}</code>],
          ]}
        />
        <p className="settings-note">
          {t('The console has no key in clear. The Secret Key is shown once, when it is made; give each program a named key of its own.')}
        </p>
      </Card>
      <Suspense fallback={null}>
        {open === 'edit' && <EditProject settings={settings} onClose={close} />}
        {open === 'rotate' && <RotateSecret name={settings.project_name} onClose={close} />}
      </Suspense>
    </div>
  )
}

const POLICIES: readonly { says: string; command: (project: string) => string; values: string }[] = [
  {
    says: 'A purchase that another user claims',
    command: project => `set ${project} --transfer-policy keep`,
    values: 'keep: it stays with the first user; transfer: it goes over; share: both have access',
  },
  {
    says: 'Access from purchases of Apple’s sandbox',
    command: project => `set ${project} --sandbox-access refuse`,
    values: 'grant: a day of access, for App Review; refuse: none',
  },
  {
    says: 'What Apple is told when a customer wishes a refund',
    command: project => `set ${project} --refund-preference none`,
    values: 'none: nothing; decline; grant_full',
  },
  {
    says: 'Exports and reports of raw data',
    command: project => `raw-data off ${project}`,
    values: 'off: refused and withheld; on: allowed',
  },
]

/** No operation reads or writes them. */
function Policies() {
  const project = usePlace()?.project ?? 'PROJECT'
  return (
    <Card title={t('Policies')} right={t('set by the command line of the service')}>
      <dl className="policies">
        {POLICIES.map(({ says, command, values }) => (
          <div key={says}>
            <dt>{t(says)}</dt>
            <dd>
              <Copy text={`npm run cli -- project ${command(project)}`} />
              <p>{t(values)}</p>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}
