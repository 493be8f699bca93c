import type { ScreenKpi } from '../../../../clients/typescript/src/index.ts'
import { Spark } from '../../chart/spark.tsx'
import { type KpiLook, shownAs } from '../../data/screens.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { t } from '../../parts/t.ts'

type Props = {
  look: KpiLook
  /** Undefined while it is not there. */
  kpi: ScreenKpi | undefined
  currency: string
  /** Of the sparkline: the number of complete values. */
  complete: number | undefined
  failed: boolean
}

/** One figure of all screens with its change and its course. */
export function KpiTile({ look: { name, measure, good, moving = false }, kpi, currency, complete, failed }: Props) {
  const value = (of: number) => <Figure value={shownAs(of, measure)} measure={measure} currency={currency} short />
  return (
    <div className="card tile">
      <span className="tile-name">{t(name)}</span>
      <div className="tile-body">
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
      </div>
    </div>
  )
}
