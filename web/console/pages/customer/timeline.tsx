import { useAddress } from '../../data/address.ts'
import { usePages, useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { Card } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { dateFormat, dateOf } from '../../parts/format.ts'
import { useKeys } from '../../parts/keys.ts'
import { curlOf } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { step } from '../../parts/table.tsx'
import { EntryRow } from './entry-row.tsx'
import { KINDS, type Kind, type Row, rowsOf, timelineInput } from './timeline-rows.ts'

/** Everything that happened to the customer in one line of time, the latest first, by months of the operator's zone. */
export function Timeline({ id }: { id: string }) {
  const [search, set] = useAddress()
  const chosen = (search.kinds ?? '').split(',').filter((kind): kind is Kind => kind in KINDS)
  const input = timelineInput(id, chosen)
  const read = usePages('v4ListCustomerTimeline', input, { topics: ['events', 'runs', 'deliveries'] })
  // Without `kinds[]` the answer names those that the operator may read.
  const { data: all } = useRead('v4ListCustomerTimeline', timelineInput(id, [], 1))
  const kinds = Object.keys(KINDS).filter((kind): kind is Kind => all === undefined || all.kinds.includes(kind as Kind))
  const toggle = (kind: Kind) => {
    const next = chosen.includes(kind) ? chosen.filter(other => other !== kind) : [...chosen, kind]
    set({ kinds: next.join(',') || undefined })
  }
  useKeys(ROW_KEYS)
  return (
    <Card
      title={t('What happened')}
      flush
      className="timeline"
      right={
        <fieldset className="timeline-kinds">
          <legend className="unseen">{t('Kinds')}</legend>
          {kinds.map(kind => (
            <Chip key={kind} on={chosen.includes(kind)} onClick={() => toggle(kind)}>
              {t(KINDS[kind])}
            </Chip>
          ))}
        </fieldset>
      }
    >
      <DataState
        of={read}
        rows={12}
        isEmpty={data => data.length === 0}
        empty={
          <Empty
            icon="clock"
            title={chosen.length > 0 ? t('Nothing of this kind') : t('Nothing yet')}
            why={t(
              'Purchases, access, events, runs of automations, deliveries, screens, groups of experiments and changes by people will be here in one line of time.',
            )}
            curl={curlOf('v4ListCustomerTimeline', input)}
          />
        }
      >
        {data => <Months id={id} rows={rowsOf(data)} />}
      </DataState>
      {read.hasNextPage && (
        <div className="customer-more">
          <button type="button" className="chip" disabled={read.isFetchingNextPage} onClick={read.more}>
            {read.isFetchingNextPage ? t('Loading') : t('Show what was before')}
          </button>
        </div>
      )}
    </Card>
  )
}

function Months({ id, rows }: { id: string; rows: readonly Row[] }) {
  const { zone } = usePreferences()
  const monthOf = ({ at }: Row) => dateFormat('en-GB', { month: 'long', year: 'numeric', timeZone: zone }).format(dateOf(at))
  return [...Map.groupBy(rows, monthOf)].map(([month, own]) => (
    <section key={month} aria-label={month}>
      <h3 className="timeline-month">{month}</h3>
      <ul className="line">
        {own.map(row => (
          <EntryRow key={row.key} id={id} row={row} />
        ))}
      </ul>
    </section>
  ))
}

const ROW_KEYS = { j: { says: t('Next row'), run: () => step(1) }, k: { says: t('Previous row'), run: () => step(-1) } }
