import './kpi-tile.css'
import type { ScreenKpi } from '../../../clients/typescript/src/index.ts'
import { Spark } from '../chart/spark.tsx'
import { Delta, Figure } from './amount.tsx'
import type { Measure } from './format.ts'
import { t } from './t.ts'

/** How a figure is shown: a fraction as percent. */
export const shownAs = (value: number, measure: Measure): number => (measure === 'percent' ? value * 100 : value)

export type KpiLook = { name: string; measure: Measure; good: boolean; moving?: boolean }

type Props = KpiLook & {
  /** Undefined while it is not there. */
  kpi: ScreenKpi | undefined
  currency: string
  /** Of the sparkline: the number of complete values. */
  complete: number | undefined
  failed: boolean
  chosen?: boolean
  onChoose?: () => void
}

/** One figure with its change and its course; a click shows it larger. */
export function KpiTile({ name, measure, good, moving = false, kpi, currency, complete, failed, chosen, onChoose }: Props) {
  const value = (of: number) => <Figure value={shownAs(of, measure)} measure={measure} currency={currency} short />
  const body = (
    <>
      <span className="tile-name">{name}</span>
      <span className="tile-body">
        <span className="tile-value">
          {kpi ? value(kpi.value) : failed ? <span className="faint">–</span> : <span className="tile-bar" />}
        </span>
        <span className="tile-change">
          {kpi && <Delta now={kpi.value} before={kpi.prev} good={good} moving={moving} />}
          {kpi && kpi.prev !== 0 && (
            <span className="tile-before">
              {t('was')} {value(kpi.prev)}
            </span>
          )}
        </span>
        <Spark values={kpi?.sparkline ?? []} {...(complete !== undefined && { open: complete })} />
      </span>
    </>
  )
  if (onChoose === undefined) return <div className="card tile">{body}</div>
  return (
    <button type="button" className={chosen ? 'card tile kpi on' : 'card tile kpi'} aria-pressed={chosen === true} onClick={onChoose}>
      {body}
    </button>
  )
}
