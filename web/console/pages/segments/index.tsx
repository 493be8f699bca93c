import './segments.css'
import { lazy, Suspense, useState } from 'react'
import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { conditionsInWords } from '../../parts/conditions/words.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { useGo } from '../../parts/to.tsx'
import { SizeCell } from './size-cell.tsx'

const SegmentForm = lazy(() => import('./form.tsx'))

const ON_PAGE = 50

const columnsOf = (isAsked: boolean): readonly Column<Segment>[] => [
  {
    key: 'name',
    head: t('Segment'),
    cell: ({ name, conditions }) => (
      <span className="segment-name">
        <bdi title={name}>{name}</bdi>
        <bdi className="narrow-words soft">{conditionsInWords(conditions)}</bdi>
      </span>
    ),
  },
  {
    key: 'people',
    head: t('Who'),
    cell: ({ conditions, listed }) => (
      <span className="segment-words">
        <bdi title={conditionsInWords(conditions)}>{conditionsInWords(conditions)}</bdi>
        {listed !== null && <span className="soft">{counted(listed, 'of {n} person on a list', 'of {n} people on a list')}</span>}
      </span>
    ),
    wideOnly: true,
  },
  { key: 'size', head: t('Now'), cell: segment => <SizeCell of={segment} isAsked={isAsked} />, figures: true },
  { key: 'changed', head: t('Changed'), cell: ({ updated_at }) => <Time at={updated_at} relative />, wideOnly: true },
]

/** People by what is true of them, or by a list: for configurations, experiments, automations, exports and charts. */
export default function Segments() {
  const [search, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const [isAsked, setAsked] = useState(false)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListSegments', input)
  const system = useRead('v4ListSystemSegments', {})
  const open = () => set({ at: 'new' }, { push: true })
  useKeys(denied === undefined ? { n: { says: t('New segment'), run: open } } : {})
  const columns = columnsOf(isAsked)
  return (
    <Page
      wide
      title={t('Segments')}
      about={t('People by what is true of them now, or on a list: for charts, automations, configurations, experiments and exports')}
      actions={
        <>
          <ShowTheCall name="v4ListSegments" input={input} />
          <Act denied={undefined} size="xs" variant="default" onClick={() => setAsked(true)}>
            {t('Count all')}
          </Act>
          <Act denied={denied} size="xs" leftSection={<Icon name="segment" size={14} />} onClick={open}>
            {t('New segment')}
          </Act>
        </>
      }
    >
      <Card
        flush
        title={search.after === undefined ? t('Own segments') : t('Older segments')}
        right={
          search.after !== undefined && (
            <button type="button" className="chip" onClick={() => set({ after: undefined })}>
              <Icon name="up" size={13} />
              {t('The newest')}
            </button>
          )
        }
      >
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0 && search.after === undefined}
          empty={
            <Empty
              icon="segment"
              title={t('No own segment yet')}
              why={t(
                'A segment names people by conditions such as a country, a subscription or a property, and can then be used everywhere.',
              )}
              action={
                <Act denied={denied} size="xs" onClick={open}>
                  {t('Make the first one')}
                </Act>
              }
              curl={`curl "${location.origin}/v4/segments" -H "Authorization: Bearer $KEY"`}
            />
          }
        >
          {({ data, has_more, next_cursor }) => (
            <>
              <Table
                caption={t('Own segments')}
                columns={columns}
                rows={data}
                rowKey={({ id }) => id}
                target={({ id }) => ({ to: `/segments/${encodeURIComponent(id)}` })}
              />
              {has_more && (
                <div className="segments-foot">
                  <button type="button" className="chip" onClick={() => set({ after: next_cursor }, { push: true })}>
                    {t('Older')}
                    <Icon name="next" size={12} />
                  </button>
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
      <Card flush title={t('System segments')} right={t('in every environment, and never changed')} className="segments-system">
        <DataState of={system} shape="table" rows={5}>
          {({ data }) => (
            <Table
              caption={t('System segments')}
              columns={columns.filter(({ key }) => key !== 'changed')}
              rows={data}
              rowKey={({ id }) => id}
              target={({ id }) => ({ to: `/segments/${id}` })}
            />
          )}
        </DataState>
      </Card>
      {search.at === 'new' && denied === undefined && (
        <Suspense fallback={null}>
          <SegmentForm onDone={id => go({ to: `/segments/${id}` })} onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}
