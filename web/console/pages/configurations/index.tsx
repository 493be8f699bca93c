import '../../parts/growth/growth.css'
import { lazy, Suspense } from 'react'
import type { RemoteConfiguration } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Audience } from '../../parts/growth/audience.tsx'
import { contextText } from '../../parts/growth/words.ts'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ListFoot } from '../../parts/list-foot.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { useGo } from '../../parts/to.tsx'
import { FirstUse } from '../../parts/used-by.tsx'

const ConfigurationForm = lazy(() => import('./form.tsx'))

const COLUMNS: readonly Column<RemoteConfiguration>[] = [
  {
    key: 'name',
    head: t('Configuration'),
    cell: ({ name, status, context_key }) => (
      <>
        <span className="growth-name">
          <bdi>{name}</bdi> <StatusChip status={status} />
        </span>
        <span className="growth-below">{contextText(context_key)}</span>
      </>
    ),
  },
  {
    key: 'audience',
    head: t('Served to'),
    cell: ({ status, segment_percent, segmentation_conditions }) =>
      status === 'archived' ? (
        <span className="faint">{t('nobody any more')}</span>
      ) : (
        <>
          <Audience percent={segment_percent} conditions={segmentation_conditions} />
          {status === 'draft' && <span className="growth-below">{t('once it is active')}</span>}
        </>
      ),
  },
  { key: 'uses', head: t('Used by experiments'), cell: one => <FirstUse of={one} none={t('none')} />, wideOnly: true },
  { key: 'changed', head: t('Changed'), cell: ({ updated_at }) => <Time at={updated_at} relative />, wideOnly: true },
]

const ON_PAGE = 50

/** What apps read at run time: which are served, to whom, under which key. */
export default function Configurations() {
  const [search, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListRemoteConfigurations', input, { every: 60_000 })
  const open = () => set({ at: 'new' }, { push: true })
  useKeys(denied === undefined ? { n: { says: t('New configuration'), run: open } } : {})
  return (
    <Page
      wide
      title={t('Configurations')}
      about={t('Values that apps read at run time. Of those of a context key, the one activated last whose audience fits is served')}
      actions={
        <>
          <ShowTheCall name="v4ListRemoteConfigurations" input={input} />
          <Act denied={denied} size="xs" leftSection={<Icon name="knobs" size={14} />} onClick={open}>
            {t('New configuration')}
          </Act>
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
              icon="knobs"
              title={t('No configuration yet')}
              why={t('A configuration gives your app texts, prices, colours, products: changed here, read by the app without a release.')}
              action={
                <Act denied={denied} size="xs" onClick={open}>
                  {t('Make the first one')}
                </Act>
              }
              curl={`curl "${location.origin}/v4/remote-configurations" -H "Authorization: Bearer $KEY"`}
            />
          }
        >
          {({ data }) => (
            <Table
              caption={t('Remote configurations')}
              columns={COLUMNS}
              rows={data}
              rowKey={({ id }) => id}
              target={({ id }) => ({ to: `/configurations/${id}` })}
            />
          )}
        </DataState>
        <ListFoot of={read} />
      </Card>
      {search.at === 'new' && denied === undefined && (
        <Suspense fallback={null}>
          <ConfigurationForm onDone={id => go({ to: `/configurations/${id}` })} onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}
