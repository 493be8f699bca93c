import { change, figure, type Measure } from './format.ts'
import { t } from './t.ts'

/** Money with its currency; the exact value on hover and in copies. */
export const Amount = ({ value, currency, short }: { value: number; currency: string; short?: boolean }) => (
  <Figure value={value} measure="usd" currency={currency} {...(short && { short })} />
)
export const Count = ({ value, short }: { value: number; short?: boolean }) => <Figure value={value} {...(short && { short })} />
/** From 0 to 100. */
export const Percent = ({ value, short }: { value: number; short?: boolean }) => (
  <Figure value={value} measure="percent" {...(short && { short })} />
)

export function Figure({
  value,
  measure = 'count',
  currency,
  short,
}: {
  value: number
  measure?: Measure
  currency?: string
  short?: boolean
}) {
  const text = figure(value, measure, currency, short)
  const exact = measure === 'usd' ? `${value} ${currency}` : String(value)
  return (
    <data value={value} title={exact} className="figure">
      {text}
    </data>
  )
}

/** The change against a previous value. `good`: whether more is better. `moving`: time alone can still change it, so no colour judges it. */
export function Delta({ now, before, good = true, moving }: { now: number; before: number; good?: boolean; moving?: boolean }) {
  if (moving) return <span className="delta mute">{t('still moving')}</span>
  const changed = change(now, before)
  if (changed === undefined) return <span className="delta mute">{now === 0 ? t('none, as before') : t('no previous value')}</span>
  const tone = changed.flat ? 'mute' : changed.up === good ? 'good' : 'bad'
  return (
    <span className={`delta ${tone}`}>
      {!changed.flat && <i aria-hidden="true">{changed.up ? '▲' : '▼'}</i>}
      {changed.text}
    </span>
  )
}
