import type { LedgerEntry } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Card } from '../../parts/card.tsx'
import { count } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

const PARTS = ['kept', 'declined', 'broken', 'outstanding'] as const
const textOf = (part: string) => (part === 'outstanding' ? t('to come') : t(part))

/** One kind of promise: its bar, its five numbers, each of which opens its rows, reasons, and what is overdue or held. */
export function KindCard({ entry, overdue }: { entry: LedgerEntry; overdue: number }) {
  const { kind, promised, held = 0, reasons } = entry
  return (
    <Card
      title={plain(kind)}
      className={overdue > 0 ? 'kind late' : 'kind'}
      right={
        <>
          {overdue > 0 && (
            <Opens at={`${kind}.overdue`} says={counted(overdue, '{n} overdue', '{n} overdue')}>
              <StatusChip status="overdue" label={counted(overdue, '{n} overdue', '{n} overdue')} />
            </Opens>
          )}
          {held > 0 && (
            <Opens at={`${kind}.held`} says={counted(held, '{n} held', '{n} held')}>
              <StatusChip status="held" label={counted(held, '{n} held', '{n} held')} />
            </Opens>
          )}
          {overdue === 0 && held === 0 && <StatusChip status="kept" label={t('on time')} />}
        </>
      }
    >
      <Bar entry={entry} />
      <div className="kind-numbers">
        <div>
          <b>{count(promised)}</b>
          <span>{t('promised')}</span>
        </div>
        {PARTS.map(part => (
          <PartNumber key={part} kind={kind} part={part} value={entry[part]} />
        ))}
      </div>
      {Object.keys(reasons).length > 0 && (
        <ul className="kind-reasons" aria-label={t('Reasons')}>
          {Object.entries(reasons)
            .toSorted(([, one], [, other]) => other - one)
            .map(([reason, n]) => (
              <li key={reason}>
                <Opens at={`${kind}.because.${reason}`}>
                  <span>{plain(reason)}</span>
                  <b>{count(n)}</b>
                </Opens>
              </li>
            ))}
        </ul>
      )}
      {entry.oldest_overdue_at && (
        <p className="kind-oldest">
          {t('The oldest that is overdue has waited since')} <Time at={entry.oldest_overdue_at} />
        </p>
      )}
      {held > 0 && entry.oldest_held_at && (
        <p className="kind-held">
          {t('The first that is held is of')} <Time at={entry.oldest_held_at} />.{' '}
          {t('Nothing is lost: they go out when their integration works again or is started.')}
        </p>
      )}
      {promised === 0 && <p className="soft">{t('Nothing was promised in this window.')}</p>}
    </Card>
  )
}

function Opens({ at, says, children }: { at: string; says?: string; children: React.ReactNode }) {
  const [, set] = useAddress()
  return (
    <button type="button" className="kind-opens" aria-label={says} onClick={() => set({ at }, { push: true })}>
      {children}
    </button>
  )
}

const PartNumber = ({ kind, part, value }: { kind: string; part: (typeof PARTS)[number]; value: number }) => {
  const shown = (
    <>
      <b className={`part ${part}`}>{count(value)}</b>
      <span>{textOf(part)}</span>
    </>
  )
  return <div>{value > 0 ? <Opens at={`${kind}.${part}`}>{shown}</Opens> : shown}</div>
}

/** The four parts beside each other; each is seen that is not 0. */
function Bar({ entry }: { entry: LedgerEntry }) {
  const says = PARTS.map(part => `${count(entry[part])} ${textOf(part)}`).join(', ')
  return (
    <div className="kind-bar" role="img" aria-label={says}>
      {PARTS.filter(part => entry[part] > 0).map(part => (
        <span key={part} className={part} style={{ flexGrow: entry[part] }} />
      ))}
    </div>
  )
}
