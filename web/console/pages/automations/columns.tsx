import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { count } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import type { NameOfEvent } from '../automation/words.ts'

const Missing = () => <span className="faint">–</span>

/** A figure of a day; `+`: of more than are counted. */
const Figure = ({ n, of, bad }: { n: number; of: Automation; bad?: boolean }) => {
  const more = of.activity?.is_complete === false && n > 0 && (!bad || n >= 5_000)
  return (
    <span
      className={n === 0 ? 'faint' : bad ? 'automations-failed' : undefined}
      title={more ? t('and more, which are not counted') : undefined}
    >
      {count(n)}
      {more && '+'}
    </span>
  )
}

/** Inactive, and its runs are still being ended. */
export const AutomationStatus = ({ of: { status, activity } }: { of: Automation }) =>
  activity?.is_cancelling ? (
    <StatusChip status="being_cancelled" tone="warn" label={t('Ending its runs')} />
  ) : (
    <StatusChip status={status} />
  )

export const columns = (nameOf: NameOfEvent): readonly Column<Automation>[] => [
  {
    key: 'name',
    head: t('Automation'),
    cell: ({ name, caption }) => (
      <span className="automations-name">
        <bdi className="automations-title" title={name}>
          {name}
        </bdi>
        {caption && (
          <bdi className="automations-caption" title={caption}>
            {caption}
          </bdi>
        )}
      </span>
    ),
  },
  { key: 'status', head: t('Status'), cell: one => <AutomationStatus of={one} /> },
  {
    key: 'event',
    head: t('Starts with'),
    wideOnly: true,
    cell: ({ data: { initiators } }) => {
      const text = initiators.map(({ uid }) => nameOf(uid)).join(', ')
      return text ? (
        <span className="automations-event" title={text}>
          {text}
        </span>
      ) : (
        <span className="faint">{t('nothing')}</span>
      )
    },
  },
  {
    key: 'runs',
    head: t('Runs, 24 h'),
    figures: true,
    cell: one => (one.activity ? <Figure n={one.activity.runs} of={one} /> : <Missing />),
  },
  {
    key: 'skipped',
    head: t('Did not start'),
    figures: true,
    wideOnly: true,
    cell: one => (one.activity ? <Figure n={one.activity.skipped} of={one} /> : <Missing />),
  },
  {
    key: 'failed',
    head: t('Failed'),
    figures: true,
    cell: one =>
      one.activity && one.activity.failed > 0 ? (
        <To to="/runs" search={{ 'f.automation_id': one.id, 'f.status': 'failed' }} className="automations-link">
          <Figure n={one.activity.failed} of={one} bad />
        </To>
      ) : (
        <span className="faint">0</span>
      ),
  },
  {
    key: 'last',
    head: t('Last run'),
    wideOnly: true,
    cell: ({ activity }) =>
      activity?.last_run_at ? <Time at={activity.last_run_at} relative /> : <span className="faint">{t('never')}</span>,
  },
  { key: 'version', head: t('Version'), figures: true, wideOnly: true, cell: ({ version }) => version },
]
