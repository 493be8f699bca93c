import { Checkbox } from '@mantine/core'
import type { AutomationRun } from '../../../../clients/typescript/src/index.ts'
import { usePreferences } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'
import { Id, shortId } from '../../parts/copy.tsx'
import { ago, bucket, moment } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { runReason, runStatus } from '../../parts/run-words.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { To } from '../../parts/to.tsx'

export const isOpen = ({ finished_at }: AutomationRun) => finished_at === null
const nameOf = ({ automation_name, automation_id }: AutomationRun) => automation_name ?? automation_id

type Props = { runs: readonly AutomationRun[]; chosen: ReadonlySet<string>; onChoose: (id: string) => void }

/** Runs, newest first; those that are under way can be chosen. */
export function Rows({ runs, chosen, onChoose }: Props) {
  const now = useNow()
  const { zone } = usePreferences()
  const columns: readonly Column<AutomationRun>[] = [
    {
      key: 'automation',
      head: t('Automation'),
      cell: run => (
        <span className="event-name">
          <span>
            <span className="runs-name" title={nameOf(run)}>
              {nameOf(run)}
            </span>
            {run.user_id && <span className="narrow-only">{shortId(run.user_id)}</span>}
          </span>
        </span>
      ),
    },
    { key: 'status', head: t('Status'), cell: run => <Status run={run} /> },
    { key: 'now', head: t('Where it is'), cell: run => <Where run={run} now={now} />, wideOnly: true },
    {
      key: 'customer',
      head: t('Customer'),
      cell: ({ user_id }) =>
        user_id === null ? (
          <span className="faint">{t('nobody')}</span>
        ) : (
          <To to={`/customers/${encodeURIComponent(user_id)}`} className="link-quiet row-cell">
            <Id>{user_id}</Id>
          </To>
        ),
      wideOnly: true,
    },
    {
      key: 'event',
      head: t('Begun by'),
      cell: ({ event }) => (
        <To to="/events" search={{ at: event.id }} className="link-quiet row-cell">
          <span className="runs-event" title={event.event_name}>
            {plain(event.event_name)}
          </span>
        </To>
      ),
      wideOnly: true,
    },
    { key: 'when', head: t('Begun'), cell: ({ created_at }) => <Begun at={created_at} zone={zone} /> },
    {
      key: 'choose',
      head: <span className="unseen">{t('Choose')}</span>,
      cell: run =>
        isOpen(run) && (
          <Checkbox
            size="sm"
            className="runs-choose"
            aria-label={t('Choose the run of {name}, {id}', { name: nameOf(run), id: run.id })}
            checked={chosen.has(run.id)}
            onChange={() => onChoose(run.id)}
          />
        ),
    },
  ]
  return (
    <Table
      caption={t('Runs')}
      columns={columns}
      rows={runs}
      rowKey={({ id }) => id}
      target={({ id }) => ({ to: `/runs/${encodeURIComponent(id)}` })}
    />
  )
}

/** To the minute; a run is kept for months, not for years. */
const Begun = ({ at, zone }: { at: string; zone: string }) => (
  <time className="time" dateTime={at} title={`${moment(at, zone)} ${zone} · ${at}`}>
    {bucket(Date.parse(at) / 1000, 'hour', zone)}
  </time>
)

const Status = ({ run: { status, is_retrying } }: { run: AutomationRun }) =>
  is_retrying ? <StatusChip status="retrying" /> : <StatusChip status={status} label={runStatus(status)} />

/** The step under way and what it waits for; what went wrong; or why it ended. */
function Where({ run, now }: { run: AutomationRun; now: number | undefined }) {
  const { current_step, due_at, is_retrying, next_attempt_at, last_error, reason, automation_status, status } = run
  const soon = (at: string) => <time dateTime={at}>{ago(at, now)}</time>
  if (is_retrying)
    return (
      <Line text={`${current_step ?? ''}: ${last_error ?? t('failed')}`}>
        <code>{current_step}</code>{' '}
        {next_attempt_at ? (
          <>
            {t('again')} {soon(next_attempt_at)}
          </>
        ) : (
          t('is held')
        )}
        {last_error && (
          <>
            {' · '}
            <bdi>{last_error}</bdi>
          </>
        )}
      </Line>
    )
  if (isOpen(run))
    return (
      <Line text={current_step ?? ''}>
        {automation_status === 'paused' && <Icon name="warn" size={12} />}
        {automation_status === 'paused' ? `${t('held, its automation is paused')} · ` : ''}
        {current_step ? <code>{current_step}</code> : t('about to begin')}
        {status === 'waiting' && due_at && (
          <>
            {' · '}
            {t('due')} {soon(due_at)}
          </>
        )}
      </Line>
    )
  const error = last_error === reason ? null : last_error
  const why = [reason === null || reason === 'exit' ? null : runReason(reason), error].filter(text => text !== null).join(': ')
  return why === '' ? <span className="faint">{t('ended')}</span> : <Line text={why}>{why}</Line>
}

const Line = ({ text, children }: { text: string; children: React.ReactNode }) => (
  <span className="runs-where" title={text}>
    {children}
  </span>
)
