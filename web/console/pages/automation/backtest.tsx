import { Button } from '@mantine/core'
import { useState } from 'react'
import type { AutomationBacktest, AutomationDataInput } from '../../../../clients/typescript/src/index.ts'
import { useNow } from '../../data/use-now.ts'
import { useWrite } from '../../data/write.ts'
import { Pairs } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Fault } from '../../parts/fault.tsx'
import { count } from '../../parts/format.ts'
import { runReason } from '../../parts/run-words.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

const DAY = 86_400_000
const SPANS = [
  ['1', '24 hours'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const
const iso = (time: number) => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z')

/** What would have happened: the log of some days played again with the stored data, or with `data`. It sends and stores nothing. */
export function Backtest({ id, data, version }: { id: string; data: AutomationDataInput | undefined; version?: number }) {
  const now = useNow()
  const [days, setDays] = useState<(typeof SPANS)[number][0]>('30')
  const [played, setPlayed] = useState<AutomationBacktest>()
  const { send, isPending, error } = useWrite('v4BacktestAutomation')
  const inputAt = (end: number) => ({
    path: { automation_id: id },
    body: { from: iso(end - Number(days) * DAY), to: iso(end + 1_000), ...(data && { data }) },
  })
  const play = async () => {
    if (now === undefined) return
    try {
      setPlayed(await send(inputAt(now)))
    } catch {
      // It is shown as `error`.
    }
  }
  return (
    <div className="form">
      <p className="soft">
        {data === undefined
          ? t('The log is played again with the stored steps and rules. Nothing is sent and nothing is stored.')
          : version === undefined
            ? t('The log is played again with what you have typed, which is not saved. Nothing is sent and nothing is stored.')
            : t('The log is played again with version {n}. Nothing is sent and nothing is stored.', { n: version })}
      </p>
      <div className="backtest-span">
        <Choice name={t('How many days')} value={days} options={SPANS} onChange={setDays} />
        <Button size="xs" loading={isPending} disabled={now === undefined} onClick={() => void play()}>
          {t('Play it')}
        </Button>
      </div>
      {error && <Fault error={error} retry={play} />}
      {played && <Played of={played} />}
      {now !== undefined && (
        <div className="form-actions">
          <ShowTheCall name="v4BacktestAutomation" input={inputAt(now)} />
        </div>
      )}
    </div>
  )
}

function Played({ of: { events, runs_started, users, skipped, steps, from, to } }: { of: AutomationBacktest }) {
  const figure = (n: number) => <b className="num">{count(n)}</b>
  const reasons = Object.entries(skipped).filter(([, n]) => n > 0)
  return (
    <div role="status" className="backtest">
      <p className="soft backtest-range">
        <Time at={from} /> – <Time at={to} />
      </p>
      <Pairs
        rows={[
          [t('Events that name it'), figure(events)],
          [t('Runs that would have started'), figure(runs_started)],
          [t('People'), figure(users)],
          ...reasons.map(([reason, n]) => [t('Did not start: {why}', { why: runReason(reason) }), figure(n)] as const),
        ]}
      />
      <h3 className="backtest-title">{t('Steps that would have been reached')}</h3>
      {Object.keys(steps).length === 0 ? (
        <p className="soft">{t('None.')}</p>
      ) : (
        <Pairs rows={Object.entries(steps).map(([step, n]) => [step, figure(n)] as const)} />
      )}
    </div>
  )
}
