import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { isGood, titleOfChart } from '../../data/charts.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { Choice } from '../../parts/choice.tsx'
import { bucket, figure } from '../../parts/format.ts'
import { Freshness } from '../../parts/freshness.tsx'
import { counted, t } from '../../parts/t.ts'
import { kindOf, wholeOf } from './picture.ts'
import type { Question } from './question.ts'

const KINDS = { line: 'Line', column: 'Bars', area: 'Area' } as const
const DAY = 86_400

/** The figure of the whole range with its change, how it is drawn, and up to when it counts. */
export function Summary({ chart, question, onOpen }: { chart: AnalyticsChart; question: Question; onOpen: () => void }) {
  const { search, zone } = question
  const [, set] = useAddress()
  const whole = wholeOf(chart)
  return (
    <div className="summary">
      <div className="summary-figure">
        {whole && (
          <>
            <button type="button" className="summary-total" onClick={onOpen} title={t('What this figure is made of')}>
              <Figure value={figuresOf(chart).now} measure={chart.measure} currency={chart.currency} />
              {whole.label !== titleOfChart(chart.code) && chart.series.length > 1 && <span className="summary-name">{whole.label}</span>}
            </button>
            <Change chart={chart} code={question.code} zone={zone} comparing={question.comparing} />
          </>
        )}
      </div>
      <div className="summary-side">
        <Choice
          name={t('Drawn as')}
          value={kindOf(search.type, chart)}
          options={(['line', 'column', 'area'] as const).map(kind => [kind, KINDS[kind]] as const)}
          onChange={kind => set({ type: kind })}
        />
        <Freshness of={[chart]} />
      </div>
    </div>
  )
}

/** Of charts that follow a start to its outcome, the part whose outcomes are known; else the whole. */
function figuresOf(chart: AnalyticsChart) {
  const whole = wholeOf(chart)!
  const complete = chart.complete ?? whole.complete
  const known = complete !== undefined && complete.to > chart.from ? complete : undefined
  return {
    now: known?.total ?? whole.total,
    before: known?.totalPrev ?? whole.totalPrev,
    until: known !== undefined && known.to < chart.to ? known.to : undefined,
    moving: complete !== undefined && known === undefined,
  }
}

function Change({ chart, code, zone, comparing }: { chart: AnalyticsChart; code: string; zone: string; comparing: boolean }) {
  const { now, before, until, moving } = figuresOf(chart)
  const previous = figure(before, chart.measure, chart.currency)
  const days = Math.round(((until ?? chart.to) - chart.from) / DAY)
  return (
    <div className="summary-change">
      {comparing && <Delta now={now} before={before} good={isGood(code)} moving={moving} />}{' '}
      {comparing && before !== 0 && (
        <span>
          {chart.totalType === 'last'
            ? t('against {previous} before {day}', { previous, day: bucket(chart.from, 'day', zone, true) })
            : days > 0
              ? counted(days, `against ${previous} in the day before`, `against ${previous} in the {n} days before`)
              : t('against {previous} in the same time before', { previous })}
        </span>
      )}
      {until !== undefined && (
        <span className="summary-until">
          {t('Counts what began until {day}; the whole range is at {total} and still moving', {
            day: bucket(until - 1, 'day', zone, true),
            total: figure(wholeOf(chart)!.total, chart.measure, chart.currency),
          })}
        </span>
      )}
      {moving && <span className="summary-until">{t('No outcome of this range is known yet')}</span>}
    </div>
  )
}
