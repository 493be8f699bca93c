import { nowHere } from '../data/clock.ts'
import { usePreferences } from '../data/session.ts'
import { useTick } from '../data/use-tick.ts'
import { moment, span } from './format.ts'
import { counted, t } from './t.ts'

/** Older figures say so. A page asks for new ones each minute. */
const LATE_SECONDS = 180

type Dated = { as_of: number; behind?: number | undefined }

/** Up to which moment figures count, and what they do not count yet: on every page with figures. Several answers: the oldest decides. */
export function Freshness({ of }: { of: readonly (Dated | undefined)[] }) {
  useTick()
  const { zone } = usePreferences()
  const read = of.filter(answer => answer !== undefined)
  if (read.length === 0) return <span className="fresh" />
  const asOf = Math.min(...read.map(answer => answer.as_of))
  const waiting = Math.max(0, ...read.map(answer => answer.behind ?? 0))
  const seconds = nowHere() / 1000 - asOf
  const late = waiting > 0 || seconds > LATE_SECONDS
  const text =
    waiting > 0
      ? counted(waiting, '{n} person has changes that are not counted yet', '{n} people have changes that are not counted yet')
      : late
        ? t('The figures are {span} old', { span: span(seconds * 1000) })
        : t('Everything up to {time} counts', { time: moment(asOf, zone).split(', ')[1] ?? '' })
  return (
    <span className={late ? 'fresh late' : 'fresh'} title={`${moment(asOf, zone)} ${zone}`}>
      <i aria-hidden="true" />
      {text}
    </span>
  )
}
