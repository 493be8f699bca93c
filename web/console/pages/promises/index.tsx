import './promises.css'
import type { Health as HealthAnswer, Ledger, LedgerEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { useNow } from '../../data/use-now.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { Health } from './health.tsx'
import { KindCard } from './kind-card.tsx'
import { Rows } from './rows.tsx'
import { Sentence } from './sentence.tsx'

const TOPICS = ['runs', 'deliveries', 'reports', 'exports'] as const
const WINDOWS = [
  ['1', 'Hour'],
  ['24', 'Day'],
  ['168', 'Week'],
  ['720', '30 days'],
] as const
type Hours = (typeof WINDOWS)[number][0]

/** What was promised and what became of it: in one sentence, by kind, row by row; and what is late in words. */
export default function Promises() {
  const now = useNow()
  const [search, set] = useAddress()
  const hours: Hours = WINDOWS.find(([own]) => own === search.hours)?.[0] ?? '24'
  // By the minute, so that the same question is asked for a minute.
  const from = new Date(Math.floor((now ?? 0) / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString().replace(/\.\d+Z/, 'Z')
  const input = { query: { from } }
  // To count a month is more work than to count a day: that is not done with every change.
  const topics = Number(hours) <= 24 ? TOPICS : []
  const read = useRead('v4GetLedger', input, { topics, every: 30_000, when: now !== undefined })
  const health = useRead('v4GetHealth', {}, { every: 15_000 })
  return (
    <Page
      wide
      title={t('Promises')}
      about={t('What the service has promised, and what became of it: every run, delivery, slot of a report and export')}
      actions={
        <>
          {read.dataUpdatedAt > 0 && (
            <span className={read.isError ? 'fresh late' : 'fresh'}>
              <i aria-hidden="true" />
              {t('counted')} <Time at={Math.floor(read.dataUpdatedAt / 1_000)} relative real />
            </span>
          )}
          <Choice name={t('Window')} value={hours} options={WINDOWS} onChange={code => set({ hours: code })} />
          <ShowTheCall name="v4GetLedger" input={input} />
        </>
      }
    >
      <DataState of={read} rows={8}>
        {ledger => <Shown ledger={ledger} health={health.data} curl={curlOf('v4GetLedger', input)} />}
      </DataState>
      <Health of={health} />
      {search.at && read.data && (
        <Rows key={`${search.at} ${hours}`} at={search.at} ledger={read.data} onClose={() => set({ at: undefined })} />
      )}
    </Page>
  )
}

function Shown({ ledger, health, curl }: { ledger: Ledger; health: HealthAnswer | undefined; curl: string }) {
  const late = (entry: LedgerEntry) => overdueOf(entry, health)
  // What is overdue stands first.
  const entries = ledger.data.toSorted((one, other) => Math.sign(late(other)) - Math.sign(late(one)))
  if (ledger.data.every(entry => entry.promised === 0 && late(entry) === 0))
    return (
      <section className="card">
        <Empty
          icon="promise"
          title={t('Nothing was promised in this window')}
          why={t(
            'A run of an automation, a delivery to an integration, a slot of a report and an export each count as one promise, from the moment at which they fall due.',
          )}
          curl={curl}
        />
      </section>
    )
  return (
    <>
      <Sentence ledger={ledger} overdue={ledger.data.reduce((sum, entry) => sum + late(entry), 0)} />
      <div className="grid half">
        {entries.map(entry => (
          <KindCard key={entry.kind} entry={entry} overdue={late(entry)} />
        ))}
      </div>
    </>
  )
}

/** Overdue is overdue, whatever the window: the figures of health are of all time. */
function overdueOf({ kind, overdue }: LedgerEntry, health: HealthAnswer | undefined): number {
  const figure = health?.data.find(one => one.figure === 'overdue')
  return figure === undefined ? overdue : (figure.parts[kind] ?? 0)
}
