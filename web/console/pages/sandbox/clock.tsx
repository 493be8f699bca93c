import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { TestClock } from '../../../../clients/typescript/src/index.ts'
import { usePlace } from '../../data/place.ts'
import { isoDay, secondOf } from '../../data/range.ts'
import { useDenied, usePreferences } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Fault } from '../../parts/fault.tsx'
import { dateOf, moment, span } from '../../parts/format.ts'
import { Send } from '../../parts/send.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { type Advance, useAdvance, type Wanted } from './advance.ts'

const STEPS = [
  ['PT1H', 'an hour'],
  ['P1D', 'a day'],
  ['P3D', '3 days'],
  ['P7D', 'a week'],
  ['P1M', 'a month'],
  ['P1Y', 'a year'],
] as const

/** What the clock shows, and time that passes: by so much, or to a day. */
export function Clock({ clock }: { clock: TestClock }) {
  const { zone } = usePreferences()
  const denied = useDenied('editor', usePlace()?.project)
  const { advance, start } = useAdvance()
  const moves = advance?.state === 'moves'
  const go = (wanted: Wanted) => void start(wanted, clock)
  return (
    <Card title={t('The clock')} className="sandbox-clock">
      <p className="clock-now">
        <time dateTime={clock.now}>{moment(clock.now, zone)}</time>
        <span className="soft">{zone}</span>
      </p>
      <p className="soft">
        {clock.offset_seconds === 0
          ? t('The same as real time.')
          : t('{span} ahead of real time. It never goes back, except by a new beginning.', {
              span: span(clock.offset_seconds * 1_000),
            })}{' '}
        {clock.outstanding > 0 && counted(clock.outstanding, '{n} job is due and under way.', '{n} jobs are due and under way.')}
      </p>
      <fieldset className="clock-steps">
        <legend>{t('Advance by')}</legend>
        {STEPS.map(([by, text]) => (
          <Act key={by} size="xs" variant="default" denied={moves ? t('the clock moves already') : denied} onClick={() => go({ by })}>
            {t(text)}
          </Act>
        ))}
      </fieldset>
      <To clock={clock} denied={moves ? t('the clock moves already') : denied} go={go} />
      {advance && <Progress advance={advance} clock={clock} again={() => go({ to: advance.to })} />}
    </Card>
  )
}

/** To a day and time of the operator's zone. */
function To({ clock, denied, go }: { clock: TestClock; denied: string | undefined; go: (wanted: Wanted) => void }) {
  const { zone } = usePreferences()
  const [text, setText] = useState('')
  const to = Number.isNaN(Date.parse(`${text}Z`)) ? undefined : dateOf(secondOf(text, zone)).toISOString().replace('.000', '')
  const early = to !== undefined && to <= clock.now
  return (
    <form
      className="clock-to"
      onSubmit={event => {
        event.preventDefault()
        if (to !== undefined && !early && denied === undefined) go({ to })
      }}
    >
      <TextInput
        type="datetime-local"
        size="xs"
        label={t('Advance to ({zone})', { zone })}
        value={text}
        min={`${isoDay(dateOf(clock.now).getTime() / 1_000, zone)}T00:00`}
        error={early ? t('The clock is already past that.') : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Send size="xs" disabled={to === undefined || early || denied !== undefined} title={denied}>
        {t('Advance')}
      </Send>
      <ShowTheCall name="v4AdvanceTestClock" input={{ body: to === undefined ? { by: 'P1D' } : { to } }} />
    </form>
  )
}

const ms = (time: string) => dateOf(time).getTime()

/** How far it has come. The clock stands at what is done. */
function Progress({ advance, clock, again }: { advance: Advance; clock: TestClock; again: () => void }) {
  const { zone } = usePreferences()
  const { from, to, parts, state } = advance
  if (state === 'failed') return <Fault error={advance.error} retry={to > clock.now ? again : undefined} />
  // After a new beginning it is not there any more.
  if (state === 'done' && ms(clock.now) < ms(to)) return null
  if (state === 'done')
    return (
      <p className="clock-done" role="status">
        {t('The clock has come to {to}.', { to: moment(to, zone) })} {doneOf(advance.drained)}
      </p>
    )
  const share = to === from ? 0 : Math.min(1, Math.max(0, (ms(clock.now) - ms(from)) / (ms(to) - ms(from))))
  return (
    <div className="clock-progress" role="status">
      <progress value={share} max={1} aria-label={t('How far the clock has come')} />
      <p>
        {t('On the way to {to}: everything that falls due is done before it goes on.', { to: moment(to, zone) })}{' '}
        {parts > 0 &&
          counted(
            parts,
            'It takes longer than a minute, and goes on by itself.',
            'It takes longer than {n} minutes, and goes on by itself.',
          )}
      </p>
    </div>
  )
}

function doneOf(drained: Record<string, number>): string {
  const done = Object.entries(drained).filter(([, n]) => n > 0)
  return done.length === 0
    ? t('No promise fell due on the way.')
    : t('On the way ended: {what}.', { what: done.map(([kind, n]) => `${plain(kind).toLowerCase()} ${n}`).join(', ') })
}
