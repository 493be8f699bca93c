import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { colourOf, dashOf, swatchOf } from '../../chart/palette.ts'
import { figure } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'

/** The series with their totals; a click takes one out of the drawing, the others keep their colours. */
export const Legend = ({
  chart,
  bars,
  hidden,
  onHide,
}: {
  chart: AnalyticsChart
  /** Drawn without dashes. */
  bars: boolean
  hidden: ReadonlySet<string>
  onHide: (label: string) => void
}) => (
  <ul className="legend" aria-label={t('Series')}>
    {chart.series.map(({ label, total }, at) => (
      <li key={label}>
        <button
          type="button"
          aria-pressed={!hidden.has(label)}
          title={hidden.has(label) ? t('Show {label}', { label }) : t('Hide {label}', { label })}
          onClick={() => onHide(label)}
        >
          {bars ? <i className={swatchOf(at)} aria-hidden="true" /> : <Swatch at={at} />}
          <span className="legend-name">{label}</span>
          <span className="legend-total">{figure(total, chart.measure, chart.currency)}</span>
        </button>
      </li>
    ))}
  </ul>
)

/** Colour and dashes of a series, as in the drawing. */
const Swatch = ({ at }: { at: number }) => (
  <svg className={`swatch-line s${colourOf(at)}`} width="18" height="10" aria-hidden="true">
    <line x1="0" x2="18" y1="5" y2="5" strokeWidth="3" strokeDasharray={dashOf(at)} />
  </svg>
)
