import './pushes.css'
import { lazy, Suspense } from 'react'
import type { Push } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ListFoot } from '../../parts/list-foot.tsx'
import { Page } from '../../parts/page.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { FirstUse } from '../../parts/used-by.tsx'
import { InUse } from './in-use.tsx'

const NewPush = lazy(() => import('./new-push.tsx'))
const PushDrawer = lazy(() => import('./push-drawer.tsx'))

const ON_PAGE = 50

/** The templates that automations send, with what sends each. */
export default function Pushes() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListPushes', input, { every: 60_000 })
  const open = () => set({ at: 'new' }, { push: true })
  const close = () => set({ at: undefined, tab: undefined })
  useKeys(denied === undefined ? { n: { says: t('New push'), run: open } } : {})
  const make = (
    <Act denied={denied} size="xs" leftSection={<Icon name="push" size={14} />} onClick={open}>
      {t('New push')}
    </Act>
  )
  return (
    <Page
      wide
      title={t('Pushes')}
      about={t('Notifications that automations send to phones')}
      actions={
        <>
          <ShowTheCall name="v4ListPushes" input={input} />
          {make}
        </>
      }
    >
      <Card flush>
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0 && search.after === undefined}
          empty={
            <Empty
              icon="push"
              title={t('No push yet')}
              why={t('A push is a text with a place to go to. Automations send it, through OneSignal or Firebase.')}
              action={make}
              curl={curlOf('v4CreatePush', { body: { name: 'Win back', title: 'Come back', body: 'Half the price until Sunday.' } })}
            />
          }
        >
          {({ data }) => (
            <Table
              caption={t('Pushes')}
              columns={COLUMNS}
              rows={data}
              rowKey={({ id }) => id}
              onOpen={({ id }) => set({ at: id, tab: undefined }, { push: true })}
            />
          )}
        </DataState>
        <ListFoot of={read} />
      </Card>
      <Suspense fallback={null}>
        {search.at === 'new' && <NewPush denied={denied} onClose={close} />}
        {search.at !== undefined && search.at !== 'new' && <PushDrawer key={search.at} id={search.at} denied={denied} onClose={close} />}
      </Suspense>
    </Page>
  )
}

const Text = ({ children, className }: { children: string; className: string }) => (
  <bdi className={className} title={children}>
    {children}
  </bdi>
)

const COLUMNS: readonly Column<Push>[] = [
  { key: 'name', head: t('Push'), cell: ({ name }) => <Text className="pushes-name">{name}</Text> },
  {
    key: 'text',
    head: t('What it says'),
    wideOnly: true,
    cell: ({ title, body }) => (
      <span className="pushes-text">
        {title && <Text className="pushes-title">{title}</Text>}
        <Text className="pushes-body">{body}</Text>
      </span>
    ),
  },
  { key: 'status', head: t('Status'), cell: push => <InUse of={push} /> },
  { key: 'uses', head: t('Sent by'), wideOnly: true, cell: push => <FirstUse of={push} none={t('no automation')} /> },
  { key: 'changed', head: t('Changed'), wideOnly: true, cell: ({ updated_at }) => <Time at={updated_at} relative /> },
]
