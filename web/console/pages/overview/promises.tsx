import type { Ledger } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

const TOPICS = ['runs', 'deliveries', 'reports', 'exports'] as const

/** One line: whether anything is late or failed in 24 hours. It opens to the numbers of each kind. */
export function Promises() {
  const read = useRead('v4GetLedger', {}, { topics: TOPICS, every: 30_000 })
  const { data } = read
  // What is overdue for longer than the ledger looks back is overdue, too.
  const health = useRead('v4GetHealth', {}, { every: 60_000, when: data !== undefined })
  if (data === undefined) return read.error ? <Fault error={read.error} retry={read.refetch} /> : <div className="promises waits" />
  const sum = (of: 'promised' | 'overdue' | 'broken' | 'kept' | 'held') => data.data.reduce((total, entry) => total + (entry[of] ?? 0), 0)
  const [broken, kept, held] = [sum('broken'), sum('kept'), sum('held')]
  const overdue = health.data?.data.find(({ figure }) => figure === 'overdue')?.count ?? sum('overdue')
  const tone = overdue > 0 ? 'bad' : broken > 0 || held > 0 ? 'warn' : 'good'
  return (
    <>
      {read.isError && <Fault error={read.error} retry={read.refetch} />}
      <details className={`promises ${tone}`}>
        <summary>
          <Icon name={tone === 'good' ? 'shield' : 'warn'} size={18} />
          <span>
            <strong>{verdict(overdue, broken, held)}</strong>{' '}
            {sum('promised') === 0
              ? t('Nothing was promised in 24 hours.')
              : counted(kept, '{n} promise kept in 24 hours.', '{n} promises kept in 24 hours.')}
          </span>
          <span className="promises-fold">
            <Icon name="fold" size={14} />
          </span>
        </summary>
        <Numbers ledger={data} />
      </details>
    </>
  )
}

function verdict(overdue: number, broken: number, held: number): string {
  if (overdue > 0) return counted(overdue, '{n} is overdue now.', '{n} are overdue now.')
  if (broken > 0) return counted(broken, '{n} failed in 24 hours.', '{n} failed in 24 hours.')
  if (held > 0) return counted(held, 'Nothing is lost; {n} delivery is held.', 'Nothing is lost; {n} deliveries are held.')
  return t('Nothing is late.')
}

const Numbers = ({ ledger }: { ledger: Ledger }) => (
  <div className="promises-kinds">
    {ledger.data.map(entry => (
      <div key={entry.kind}>
        <b>{plain(entry.kind)}</b>
        <span>
          {counted(entry.promised, '{n} promised', '{n} promised')} · {counted(entry.kept, '{n} kept', '{n} kept')} ·{' '}
          {counted(entry.outstanding, '{n} under way', '{n} under way')}
          {entry.declined > 0 && <> · {counted(entry.declined, '{n} declined', '{n} declined')}</>}
          {entry.broken > 0 && <> · {counted(entry.broken, '{n} failed', '{n} failed')}</>}
          {entry.overdue > 0 && <> · {counted(entry.overdue, '{n} overdue', '{n} overdue')}</>}
        </span>
        {entry.oldest_overdue_at && (
          <span>
            {t('the oldest since')} <Time at={entry.oldest_overdue_at} relative />
          </span>
        )}
        {(entry.held ?? 0) > 0 && <span>{t('{n} held: their integration is in error or paused', { n: entry.held! })}</span>}
      </div>
    ))}
  </div>
)
