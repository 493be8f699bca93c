import type { ScheduledReport } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { counted, t } from '../../parts/t.ts'
import { type StateCode, stateCode, stateOf } from '../reports/words.ts'
import { lineOf, type Runs } from './runs.ts'

const ORDER: readonly StateCode[] = ['delivered', 'empty', 'withheld', 'failed', 'skipped', 'running', 'pending']
const MOST = 120

/** One cell for each slot, the newest last: its colour, its sign, and its line on hover and focus. A click shows what became of it. */
export function Cells({ report, runs }: { report: ScheduledReport; runs: Runs }) {
  const [, set] = useAddress()
  return (
    <Card title={t('Slots so far')} right={counted(report.runs, '{n} started', '{n} started')}>
      <DataState
        of={runs}
        rows={2}
        isEmpty={rows => !rows.some(({ kind }) => kind === 'scheduled')}
        empty={<p className="soft">{report.next_slot === null ? t('A draft has no slots.') : t('The first slot is ahead.')}</p>}
      >
        {rows => {
          const slots = rows.filter(({ kind }) => kind === 'scheduled').slice(0, MOST)
          return (
            <>
              <ol className="cells">
                {slots.toReversed().map(run => {
                  const { tone, sign } = stateOf(stateCode(run))
                  const line = lineOf(run, report)
                  return (
                    <li key={run.id}>
                      <button
                        type="button"
                        className={`cell ${tone} ${stateCode(run)}`}
                        title={line}
                        aria-label={line}
                        onClick={() => set({ at: run.id }, { push: true })}
                      >
                        <span aria-hidden="true">{sign}</span>
                      </button>
                    </li>
                  )
                })}
              </ol>
              <p className="cells-legend">
                {ORDER.map(code => [code, slots.filter(run => stateCode(run) === code).length] as const)
                  .filter(([, n]) => n > 0)
                  .map(([code, n]) => (
                    <span key={code}>
                      <i className={`cell small ${stateOf(code).tone} ${code}`} aria-hidden="true">
                        {stateOf(code).sign}
                      </i>
                      {t('{n} {state}', { n, state: t(stateOf(code).says).toLowerCase() })}
                    </span>
                  ))}
                {runs.hasNextPage && <span>{t('among the newest runs')}</span>}
              </p>
            </>
          )
        }}
      </DataState>
    </Card>
  )
}
