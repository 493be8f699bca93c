import '../overview/tiles.css'
import './screens.css'
import { lazy, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { completeOf, OVERVIEW, useScreenQuestion } from '../../data/screens.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Freshness } from '../../parts/freshness.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Table } from '../../parts/table.tsx'
import { Unconverted } from '../../parts/unconverted.tsx'
import { columnsOf } from './columns.tsx'
import { KpiTile } from './tile.tsx'

const NewScreen = lazy(() => import('./new-screen.tsx'))

/** As many as the figures are told of at once. */
const ON_PAGE = 50
const CODES = Object.keys(OVERVIEW) as (keyof typeof OVERVIEW)[]

/** What apps are shown, and what was sold on it. */
export default function Screens() {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const input = { query: { limit: ON_PAGE, ...(search.after && { starting_after: search.after }) } }
  const read = useRead('v4ListScreens', input, { every: 60_000 })
  const { range, zone, currency, query } = useScreenQuestion(search)
  const ids = read.data?.data.map(({ id }) => id) ?? []
  const asked = { query: { ...query, ...(ids.length > 0 && { 'screens[]': ids }) } }
  const figures = useRead('v4GetScreensAnalyticsOverview', asked, { when: read.data !== undefined || read.isError })
  const data = figures.data?.data
  const open = () => set({ at: 'new' }, { push: true })
  useKeys(denied === undefined ? { n: { says: t('New screen'), run: open } } : {})
  const own = { range: search.range, from: search.from, to: search.to, currency: search.currency }
  const make = (
    <Act denied={denied} size="xs" leftSection={<Icon name="screen" size={14} />} onClick={open}>
      {t('New screen')}
    </Act>
  )
  return (
    <Page
      wide
      title={t('Screens')}
      about={t('Paywalls and other screens that apps show, with what was sold on them')}
      actions={
        <>
          <Freshness of={[dated(figures.data)]} />
          <ShowTheCall name="v4GetScreensAnalyticsOverview" input={asked} />
          {make}
        </>
      }
    >
      <div className="filters">
        <RangePick range={range} zone={zone} />
        <CurrencyPick />
      </div>
      {figures.error && (
        <div className="tiles-fault">
          <Fault error={figures.error} retry={figures.refetch} />
        </div>
      )}
      <Unconverted money={figures.data?.unconverted} />
      <section aria-label={t('All screens together')} className={figures.isPlaceholderData ? 'screens-tiles stale' : 'screens-tiles'}>
        <div className="tiles">
          {CODES.map(code => (
            <KpiTile
              key={code}
              look={OVERVIEW[code]}
              kpi={data?.kpis[code]}
              currency={currency}
              complete={data && completeOf(data.period)}
              failed={figures.isError}
            />
          ))}
        </div>
        <p className="screens-about">{t('All screens together, also those that were deleted, against the same length before.')}</p>
      </section>
      <Card
        flush
        title={search.after === undefined ? t('Newest') : t('Older screens')}
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
          isEmpty={({ data: rows }) => rows.length === 0 && search.after === undefined}
          empty={
            <Empty
              icon="screen"
              title={t('No screen yet')}
              why={
                <>
                  {t('A layout comes from an editor of screens. A file brings it in:')} <code>npm run cli -- screens import FILE.json</code>
                  . {t('An empty draft can be made here.')}
                </>
              }
              action={make}
              curl={curlOf('v4CreateScreen', { body: { name: 'Summer paywall' } })}
            />
          }
        >
          {({ data: rows, has_more, next_cursor }) => (
            <>
              <Table
                caption={t('Screens')}
                columns={columnsOf(new Map(data?.screens?.map(({ uid, kpis }) => [uid, kpis])), currency)}
                rows={rows}
                rowKey={({ id }) => id}
                target={({ id }) => ({ to: `/screens/${encodeURIComponent(id)}`, search: own })}
              />
              {has_more && (
                <div className="screens-foot">
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
      {search.at === 'new' && (
        <Suspense fallback={null}>
          <NewScreen denied={denied} onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}

type Dated = { as_of?: number | undefined; behind?: number | undefined }
const dated = (answer: Dated | undefined) => (answer?.as_of === undefined ? undefined : { as_of: answer.as_of, behind: answer.behind })
