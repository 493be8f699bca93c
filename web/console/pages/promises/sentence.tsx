import type { Ledger } from '../../../../clients/typescript/src/index.ts'
import { usePreferences } from '../../data/session.ts'
import { useCopy } from '../../parts/copy.tsx'
import { count, moment } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { counted, t } from '../../parts/t.ts'

/** The whole ledger in one sentence, as it can be sent to somebody. */
export function Sentence({ ledger, overdue }: { ledger: Ledger; overdue: number }) {
  const { zone } = usePreferences()
  const [copied, copy] = useCopy()
  const sum = (of: 'promised' | 'kept' | 'declined' | 'broken' | 'outstanding' | 'held') =>
    ledger.data.reduce((total, entry) => total + (entry[of] ?? 0), 0)
  const [broken, held] = [sum('broken'), sum('held')]
  const between = t('between {from} and {to} ({zone})', { from: moment(ledger.from, zone), to: moment(ledger.to, zone), zone })
  const promised = counted(sum('promised'), '{n} promise', '{n} promises')
  const kept = counted(sum('kept'), '{n} is kept', '{n} are kept')
  const declined = t('{n} declined on purpose', { n: count(sum('declined')) })
  const failed = t('{n} broken', { n: count(broken) })
  const open = t('{n} still to come', { n: count(sum('outstanding')) })
  const late = overdue === 0 ? t('None is overdue.') : counted(overdue, '{n} is overdue now.', '{n} are overdue now.')
  const waiting = held === 0 ? '' : counted(held, '{n} is held, and not lost.', '{n} are held, and not lost.')
  const whole = `Of ${promised} ${between}, ${kept}, ${declined}, ${failed} and ${open}. ${[late, waiting].filter(Boolean).join(' ')}`
  return (
    <section className={overdue > 0 ? 'card proof bad' : 'card proof'} aria-label={t('In one sentence')}>
      <p>
        {t('Of')} <b>{promised}</b> {between}, <b className="proof-kept">{kept}</b>, {declined},{' '}
        <b className={broken > 0 ? 'proof-bad' : undefined}>{failed}</b> {t('and')} {open}.{' '}
        <b className={overdue > 0 ? 'proof-bad' : undefined}>{late}</b> {waiting}
      </p>
      <button type="button" className="chip" onClick={() => copy(whole)}>
        <Icon name={copied ? 'check' : 'copy'} size={14} />
        {copied ? t('Copied') : t('Copy the sentence')}
      </button>
    </section>
  )
}
