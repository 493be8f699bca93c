import '../segments/segments.css'
import './segment.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { UsedBy } from '../../parts/used-by.tsx'
import { People, Size } from '../segments/people.tsx'
import { sizeBody } from '../segments/size-cell.tsx'

const SegmentForm = lazy(() => import('../segments/form.tsx'))
const Delete = lazy(() => import('./delete.tsx'))
const Listed = lazy(() => import('./listed.tsx'))

/** One segment: who is in it, who is now, and what uses it. */
export default function SegmentPage() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { path: { segment_id: id } }
  const read = useRead('v4GetSegment', input)
  const segment = read.data
  const system = segment?.is_system ? t('system segments are never changed') : undefined
  const open = (at: string) => set({ at }, { push: true })
  const close = () => set({ at: undefined })
  useKeys(segment && (denied ?? system) === undefined ? { e: { says: t('Edit'), run: () => open('edit') } } : {})
  return (
    <Page
      wide
      title={segment?.name ?? t('Segment')}
      about={
        <span className="segment-about">
          <To to="/segments" className="link">
            {t('Segments')}
          </To>
          {segment?.is_system && <StatusChip status="system" tone="mute" label={t('System')} />}
        </span>
      }
      actions={
        segment && (
          <>
            <ShowTheCall name="v4GetSegment" input={input} />
            <To to="/charts/active-subscriptions" search={{ 'f.segment_id': id }} className="chip small">
              <Icon name="chart" size={13} />
              {t('Their charts')}
            </To>
            <Act denied={denied ?? system} size="xs" variant="default" onClick={() => open('delete')}>
              {t('Delete')}
            </Act>
            <Act denied={denied ?? system} size="xs" onClick={() => open('edit')}>
              {t('Edit')}
            </Act>
          </>
        )
      }
    >
      {read.error?.status === 404 ? (
        <NotHere icon="segment" title={t('No such segment')} to="/segments" all={t('All segments')} />
      ) : (
        <DataState of={read} rows={8}>
          {shown => (
            <div className="grid two start">
              <Who key={shown.id} segment={shown} onList={() => open('list')} />
              <div className="grid">
                <Card title={t('Used by')}>
                  <UsedBy of={shown} none={t('Nothing names it.')} />
                </Card>
                <About segment={shown} />
              </div>
            </div>
          )}
        </DataState>
      )}
      <Suspense fallback={null}>
        {segment && search.at === 'edit' && (denied ?? system) === undefined && (
          <SegmentForm segment={segment} onDone={close} onClose={close} />
        )}
        {segment && search.at === 'delete' && (denied ?? system) === undefined && <Delete segment={segment} onClose={close} />}
        {segment && search.at === 'list' && segment.listed !== null && <Listed segment={segment} onClose={close} />}
      </Suspense>
    </Page>
  )
}

/** The rule in words, how many meet it now, and some of them. */
function Who({ segment, onList }: { segment: Segment; onList: () => void }) {
  const input = { body: sizeBody(segment) }
  const read = useRead('v4PreviewSegment', input)
  return (
    <Card title={t('Who is in it')} right={<ShowTheCall name="v4PreviewSegment" input={input} />}>
      <p className="segment-rule">
        <ConditionsInWords conditions={segment.conditions} />
      </p>
      {segment.listed !== null && (
        <p className="segment-note">
          {t('Of these, people on a list:')}{' '}
          <button type="button" className="chip small" onClick={onList}>
            <Icon name="list" size={13} />
            {counted(segment.listed, '{n} person', '{n} people')}
          </button>
        </p>
      )}
      <div className="segment-who">
        <DataState of={read} rows={6}>
          {preview => (
            <>
              <p className="segment-size-line">
                <Size of={preview} /> <span className="soft">{t('now')}</span>
              </p>
              <People of={preview} />
            </>
          )}
        </DataState>
      </div>
    </Card>
  )
}

const About = ({ segment: { id, conditions, created_at, updated_at, is_system } }: { segment: Segment }) => (
  <Card title={t('About it')}>
    <Pairs
      rows={[
        [t('Id'), <Copy key="id" text={id} />],
        [t('Conditions'), counted(conditions.length, '{n}', '{n}')],
        ...(is_system
          ? []
          : ([
              [t('Made'), <Time key="made" at={created_at} />],
              [t('Changed'), <Time key="changed" at={updated_at} />],
            ] as const)),
      ]}
    />
  </Card>
)
