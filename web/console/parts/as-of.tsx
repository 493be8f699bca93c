import { usePreferences } from '../data/session.ts'
import { moment, span } from './format.ts'
import { counted, t } from './t.ts'
import { useTick } from './time.tsx'

/** Older figures say how old they are. */
const OLD_SECONDS = 180

/** Up to which moment the figures count, and what they do not count yet. */
export function AsOf({ asOf, behind = 0 }: { asOf: number; behind?: number | undefined }) {
  useTick()
  const { zone } = usePreferences()
  const seconds = Date.now() / 1000 - asOf
  const isOld = seconds > OLD_SECONDS
  return (
    <span className={behind > 0 || isOld ? 'as-of late' : 'as-of'} title={`${moment(asOf, zone)} ${zone}`}>
      <i aria-hidden="true" />
      {behind > 0
        ? counted(behind, '{n} person has changes that are not counted yet', '{n} people have changes that are not counted yet')
        : isOld
          ? t('{span} old', { span: span(seconds * 1000) })
          : t('up to {time}', { time: moment(asOf, zone).split(', ')[1] ?? '' })}
    </span>
  )
}
