import { lazy, Suspense, useEffect, useRef } from 'react'
import type { Push } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Act } from '../../parts/act.tsx'
import { Pairs } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { DeleteForm } from '../../parts/delete-form.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { UsedBy } from '../../parts/used-by.tsx'
import { useSenders } from './fields.tsx'
import { InUse } from './in-use.tsx'
import { Notifications } from './notification.tsx'
import { useAppName } from './use-app-name.ts'

const EditPush = lazy(() => import('./edit-push.tsx'))

type Props = { id: string; denied: string | undefined; onClose: () => void }

/** One push: what it looks like, where it leads, and what sends it; in other tabs of the drawer it is changed and deleted. */
export default function PushDrawer({ id, denied, onClose }: Props) {
  const [search, set] = useAddress()
  const read = useRead('v4GetPush', { path: { push_id: id } })
  const { tab } = search
  const push = read.data
  const back = () => set({ tab: undefined })
  useKeys(
    denied === undefined && push !== undefined ? { e: { says: t('Edit the push'), run: () => set({ tab: 'edit' }, { push: true }) } } : {},
  )
  // What had the focus is gone with its tab.
  const shownTab = useRef(tab)
  useEffect(() => {
    if (shownTab.current !== tab) document.querySelector<HTMLElement>('.drawer')?.focus()
    shownTab.current = tab
  }, [tab])
  const title = push === undefined ? t('Push') : tab === 'edit' ? t('Edit the push') : tab === 'delete' ? t('Delete this push') : push.name
  return (
    <Drawer title={<bdi>{title}</bdi>} onClose={tab === undefined ? onClose : back}>
      {read.error?.status === 404 ? (
        <Empty icon="push" title={t('No such push')} why={t('It was deleted, or belongs to another project or environment.')} />
      ) : (
        <DataState of={read}>
          {one =>
            tab === 'edit' ? (
              <Suspense fallback={<Bars rows={8} />}>
                <EditPush push={one} denied={denied} onDone={back} />
              </Suspense>
            ) : tab === 'delete' ? (
              <Delete push={one} denied={denied} onClose={onClose} />
            ) : (
              <Shown push={one} denied={denied} />
            )
          }
        </DataState>
      )}
    </Drawer>
  )
}

function Shown({ push, denied }: { push: Push; denied: string | undefined }) {
  const [, set] = useAddress()
  const app = useAppName()
  const { senders } = useSenders()
  const { id, title, body, image_url, deep_link, data, integration_id, created_at, updated_at } = push
  const sender = senders?.find(one => one.id === integration_id)
  return (
    <>
      <Notifications of={push} app={app} />
      <Pairs
        rows={[
          [t('Status'), <InUse key="status" of={push} />],
          [t('Title'), title === '' ? undefined : <bdi key="title">{title}</bdi>],
          [t('Text'), <bdi key="body">{body}</bdi>],
          [t('A tap leads to'), deep_link === null ? undefined : <Copy key="link" text={deep_link} />],
          [t('Picture'), image_url === null ? undefined : <Copy key="picture" text={image_url} />],
          [
            t('Sent through'),
            integration_id === null ? (
              t('chosen for each person')
            ) : (
              <To key="through" to={`/integrations/${encodeURIComponent(integration_id)}`} className="link">
                <bdi>{sender?.title ?? integration_id}</bdi>
              </To>
            ),
          ],
          [t('Made'), <Time key="made" at={created_at} />],
          [t('Changed'), <Time key="changed" at={updated_at} />],
          [t('Id'), <Copy key="id" text={id} />],
        ]}
      />
      {Object.keys(data).length > 0 && (
        <>
          <h3 className="push-title">{t('Data for the app')}</h3>
          <Pairs
            rows={Object.entries(data).map(([key, value]) => [
              key,
              <bdi key={key}>
                <code>{value}</code>
              </bdi>,
            ])}
          />
        </>
      )}
      <h3 className="push-title">{t('Sent by')}</h3>
      <UsedBy of={push} none={t('No automation names it.')} />
      <div className="push-acts">
        <ShowTheCall name="v4GetPush" input={{ path: { push_id: id } }} />
        <Act denied={denied} size="xs" variant="default" onClick={() => set({ tab: 'delete' }, { push: true })}>
          {t('Delete')}
        </Act>
        <Act denied={denied} size="xs" onClick={() => set({ tab: 'edit' }, { push: true })}>
          {t('Edit')}
        </Act>
      </div>
    </>
  )
}

const Delete = ({ push, denied, onClose }: { push: Push; denied: string | undefined; onClose: () => void }) => (
  <DeleteForm
    operation="v4DeletePush"
    input={{ path: { push_id: push.id } }}
    id={push.id}
    denied={denied}
    changes={['v4ListPushes']}
    of={push}
    onDone={() => {
      say(t('The push is deleted'))
      onClose()
    }}
  >
    <p>
      {t('This cannot be undone. Runs under way that come to it fail at that step; inactive automations that name it cannot be activated.')}
    </p>
  </DeleteForm>
)
