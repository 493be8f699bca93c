import { usePreferences } from '../data/session.ts'
import { useNow } from '../data/use-now.ts'
import { ago, dateOf, moment } from './format.ts'

/** A moment relative to now: in the sandbox to its own clock. Exact on hover. */
export function Soon({ at }: { at: string }) {
  const now = useNow()
  const { zone } = usePreferences()
  return (
    <time className="time" dateTime={dateOf(at).toISOString().replace('.000', '')} title={`${moment(at, zone)} ${zone}`}>
      {now === undefined ? moment(at, zone) : ago(at, now)}
    </time>
  )
}
