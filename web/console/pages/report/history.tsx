import { useState } from 'react'
import type { ScheduledReport, ScheduledReportRun } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { usePages } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Count } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Outcome } from '../reports/outcome.tsx'
import { OUTCOMES, onClocks, reasonText, type StateCode, stateOf } from '../reports/words.ts'
import { lateText, notAgain, type Runs, whenText } from './runs.ts'
import { useResend } from './use-resend.ts'

const LIMIT = 60
/** So many are seen at first, and more by the button. */
const AT_FIRST = 15
const MORE = 45

/** Every slot and test, newest first: rows, how late, and what each destination did. */
export function History({ report, runs }: { report: ScheduledReport; runs: Runs }) {
  const [search, set] = useAddress()
  const chosen = OUTCOMES.find(outcome => outcome === search['f.outcome'])
  const query = { limit: LIMIT, ...(chosen && { 'filter[outcome][]': [chosen] }) }
  const some = usePages(
    'v4ListScheduledReportRuns',
    { path: { report_id: report.id }, query },
    { topics: ['reports'], when: chosen !== undefined },
  )
  const shown = chosen === undefined ? runs : some
  const [seen, setSeen] = useState(AT_FIRST)
  const older = (rows: readonly ScheduledReportRun[]) => {
    if (seen + MORE > rows.length && shown.hasNextPage) shown.more()
    setSeen(seen + MORE)
  }
  const { resend, isPending, error } = useResend()
  const denied = useDenied('editor', usePlace()?.project)
  const columns = columnsOf(report, run => {
    const why = denied ?? notAgain(run)
    return (
      <Act
        denied={why}
        size="compact-sm"
        variant="default"
        disabled={isPending}
        aria-label={t('Resend {when}', { when: whenText(run, report) })}
        onClick={() => void resend(run)}
      >
        {t('Resend')}
      </Act>
    )
  })
  return (
    <Card flush title={t('History')}>
      <div className="filters history-filters">
        {OUTCOMES.map(outcome => (
          <Chip key={outcome} on={chosen === outcome} onClick={() => set({ 'f.outcome': chosen === outcome ? undefined : outcome })}>
            {t(stateOf(outcome).says)}
          </Chip>
        ))}
      </div>
      {error && <Fault error={error} />}
      <DataState
        of={shown}
        shape="table"
        isEmpty={rows => rows.length === 0}
        empty={<Nothing report={report} isFiltered={chosen !== undefined} />}
      >
        {rows => (
          <>
            <Table
              caption={t('Runs of the report')}
              columns={columns}
              rows={rows.slice(0, seen)}
              rowKey={({ id }) => id}
              onOpen={({ id }) => set({ at: id }, { push: true })}
            />
            {(shown.hasNextPage || rows.length > seen) && (
              <div className="reports-foot">
                <button type="button" className="chip" disabled={shown.isFetchingNextPage} onClick={() => older(rows)}>
                  {t('Older')}
                </button>
              </div>
            )}
          </>
        )}
      </DataState>
    </Card>
  )
}

const columnsOf = (report: ScheduledReport, again: (run: ScheduledReportRun) => React.ReactNode): readonly Column<ScheduledReportRun>[] => [
  {
    key: 'slot',
    head: t('Slot, {zone}', { zone: report.timezone }),
    cell: run => <span className="row-cell nowrap">{whenText(run, report)}</span>,
  },
  {
    key: 'outcome',
    head: t('Outcome'),
    cell: run => (
      <>
        <Outcome run={run} />
        {run.reason !== null && <span className="second-line">{reasonText(run.reason)}</span>}
      </>
    ),
  },
  {
    key: 'rows',
    head: t('Rows'),
    cell: ({ rows }) => (rows === null ? <span className="faint">–</span> : <Count value={rows} />),
    figures: true,
  },
  {
    key: 'late',
    head: t('Late by'),
    cell: ({ late_by_seconds: late, slot }) => (slot === null ? <span className="faint">–</span> : lateText(late)),
    figures: true,
    wideOnly: true,
  },
  { key: 'to', head: t('Sent to'), cell: run => <SentTo run={run} />, wideOnly: true },
  { key: 'again', head: <span className="unseen">{t('Resend')}</span>, cell: again, figures: true, wideOnly: true },
]

const SIGNS: Record<ScheduledReportRun['destinations'][number]['status'], StateCode> = {
  pending: 'pending',
  delivered: 'delivered',
  withheld: 'withheld',
  failed: 'failed',
}

/** Each destination with its status and attempts: `● E-mail: Finance, 1×`, `✕ Webhooks: CRM (failed), 7×`. */
const SentTo = ({ run }: { run: ScheduledReportRun }) =>
  run.destinations.length === 0 ? (
    <span className="faint">–</span>
  ) : (
    <span className="sent-to soft">
      {run.destinations.map(({ id, label, status, attempts }) => {
        const { sign, tone } = stateOf(SIGNS[status])
        return (
          <span key={id}>
            <i className={`sent-sign ${tone}`} aria-hidden="true">
              {sign}
            </i>
            <bdi>{label}</bdi>
            {status === 'delivered' ? <span className="unseen">{t('delivered')}</span> : ` (${t(status)})`}
            {attempts > 0 && t(', {n}×', { n: attempts })}
          </span>
        )
      })}
    </span>
  )

function Nothing({ report, isFiltered }: { report: ScheduledReport; isFiltered: boolean }) {
  if (isFiltered) return <Empty icon="search" title={t('No run ended so')} why={t('Take the filter away to see all of them.')} />
  return (
    <Empty
      icon="clock"
      title={t('Nothing was sent yet')}
      why={
        report.next_slot === null
          ? t('A draft has no slots. Send a test, or activate it.')
          : t('The first file goes at {time}, {zone}.', { time: onClocks(report.next_slot, report.timezone), zone: report.timezone })
      }
      curl={`curl "${location.origin}/v4/scheduled-reports/${report.id}/runs" -H "Authorization: Bearer $KEY"`}
    />
  )
}
