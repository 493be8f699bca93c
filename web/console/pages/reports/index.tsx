import './reports.css'
import { lazy, Suspense } from 'react'
import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied, usePreferences } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { chartOfSearch } from '../../parts/asked-chart.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { useGo } from '../../parts/to.tsx'
import { chartDraft } from './draft.ts'
import { Outcome } from './outcome.tsx'
import { onClocks, reasonText, scheduleText, statusOf, utcText } from './words.ts'

const ReportForm = lazy(() => import('./form.tsx'))

const ON_PAGE = 50
/** Destinations of a report in the list; its page has all. */
const SHOWN = 3

const COLUMNS: readonly Column<ScheduledReport>[] = [
  {
    key: 'name',
    head: t('Report'),
    cell: report => (
      <span className="report-name">
        <bdi>{report.report_name}</bdi> <StatusChip {...statusOf(report)} />
        <span className="narrow-only soft">{scheduleText(report)}</span>
      </span>
    ),
  },
  {
    key: 'schedule',
    head: t('Schedule'),
    cell: report => (
      <>
        {scheduleText(report)}
        <span className="second-line nowrap">{report.timezone}</span>
      </>
    ),
    wideOnly: true,
  },
  {
    key: 'next',
    head: t('Next slot'),
    cell: ({ next_slot, timezone }) =>
      next_slot === null ? (
        <span className="faint">{t('none')}</span>
      ) : (
        <>
          <time dateTime={next_slot} className="time">
            {onClocks(next_slot, timezone)}
          </time>
          <span className="second-line">{utcText(next_slot)}</span>
        </>
      ),
  },
  {
    key: 'last',
    head: t('Last slot'),
    cell: ({ last_run, timezone }) =>
      last_run === null ? (
        <span className="faint">{t('none yet')}</span>
      ) : (
        <>
          <Outcome run={last_run} />
          <span className="second-line">{reasonText(last_run.reason) ?? onClocks(last_run.slot, timezone)}</span>
        </>
      ),
  },
  {
    key: 'to',
    head: t('Sent to'),
    cell: ({ destinations }) => (
      <span className="sent-to">
        {destinations.slice(0, SHOWN).map(({ id, label }) => (
          <bdi key={id}>{label}</bdi>
        ))}
        {destinations.length > SHOWN && <span className="second-line">{t('and {n} more', { n: destinations.length - SHOWN })}</span>}
      </span>
    ),
    wideOnly: true,
  },
]

/** Files that go out by a schedule: when each goes next, and what became of its last slot. */
export default function Reports() {
  const [search, set] = useAddress()
  const go = useGo()
  const { zone } = usePreferences()
  const denied = useDenied('editor', usePlace()?.project)
  const offset = /^\d{1,5}$/.test(search.offset ?? '') ? Number(search.offset) : 0
  const input = { query: { limit: ON_PAGE, ...(offset > 0 && { offset }) } }
  const read = useRead('v4ListScheduledReports', input, { topics: ['reports'], every: 60_000 })
  const open = () => set({ at: 'new' }, { push: true })
  useKeys(denied === undefined ? { n: { says: t('New report'), run: open } } : {})
  // A chart of whose page somebody chose *Schedule*, with its settings.
  const chart = chartOfSearch(search)
  const begin = chart && chartDraft(search.tz ?? zone, chart, titleOfChart(chart.code))
  const close = () => go({ to: '/reports' })
  const turn = (to: number) => set({ offset: to > 0 ? String(to) : undefined }, { push: true })
  return (
    <Page
      wide
      title={t('Reports')}
      about={t(
        'Files by a schedule. Every slot ends in an outcome that can be seen: delivered, empty, withheld, failed, or skipped and why',
      )}
      actions={
        <>
          <ShowTheCall name="v4ListScheduledReports" input={input} />
          <Act denied={denied} size="xs" leftSection={<Icon name="mail" size={14} />} onClick={open}>
            {t('New report')}
          </Act>
        </>
      }
    >
      <Card flush className="reports-list">
        <DataState
          of={read}
          shape="table"
          isEmpty={({ data }) => data.length === 0 && offset === 0}
          empty={
            <Empty
              icon="mail"
              title={t('No report yet')}
              why={t(
                'A report sends the rows or charts of its days as a file, at a time on the clocks of your zone, to a bucket, a webhook, Slack or by e-mail.',
              )}
              action={
                <Act denied={denied} size="xs" onClick={open}>
                  {t('Make the first one')}
                </Act>
              }
              curl={`curl "${location.origin}/v4/scheduled-reports" -H "Authorization: Bearer $KEY"`}
            />
          }
        >
          {({ data, has_more }) => (
            <>
              <Table
                caption={t('Scheduled reports')}
                columns={COLUMNS}
                rows={data}
                rowKey={({ id }) => id}
                target={({ id }) => ({ to: `/reports/${id}` })}
              />
              {(has_more || offset > 0) && (
                <div className="reports-foot">
                  {offset > 0 && (
                    <button type="button" className="chip" onClick={() => turn(offset - ON_PAGE)}>
                      <Icon name="prev" size={12} />
                      {t('Newer')}
                    </button>
                  )}
                  {has_more && (
                    <button type="button" className="chip" onClick={() => turn(offset + ON_PAGE)}>
                      {t('Older')}
                      <Icon name="next" size={12} />
                    </button>
                  )}
                </div>
              )}
            </>
          )}
        </DataState>
      </Card>
      {search.at === 'new' && denied === undefined && (
        <Suspense fallback={null}>
          <ReportForm key={search.chart} begin={begin} onDone={id => go({ to: `/reports/${id}` })} onClose={close} />
        </Suspense>
      )}
    </Page>
  )
}
