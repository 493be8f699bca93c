import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { INSIGHT_LOOKS } from '../../parts/insight-looks.ts'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

const DAYS = 30
const MOST = 4

/** What the service finds worth a look, each with the chart that shows it. */
export function Moved() {
  const read = useRead('v4GetAnalyticsInsights', { query: { period: DAYS } })
  return (
    <Card
      title={t('What moved in {n} days', { n: DAYS })}
      right={
        <To to="/insights" className="link">
          {t('All insights')}
        </To>
      }
      flush
    >
      <DataState
        of={read}
        rows={4}
        isEmpty={({ insights }) => insights.length === 0}
        empty={
          <Empty
            icon="chart"
            title={t('Nothing stands out')}
            why={t('Once two periods of {n} days have trials or sales, what moved is said here.', { n: DAYS })}
          />
        }
      >
        {({ insights }) => (
          <ul className="line">
            {insights.slice(0, MOST).map(insight => (
              <li key={insight.metric + insight.title}>
                <span className={`node ${INSIGHT_LOOKS[insight.type].tone}`}>
                  <Icon name={INSIGHT_LOOKS[insight.type].icon} size={14} />
                </span>
                <div>
                  <To to={`/charts/${insight.metric}`} className="line-title">
                    {insight.title}
                  </To>
                  <div className="line-more">{insight.body}</div>
                  {insight.action && <div className="line-more">{insight.action}</div>}
                </div>
              </li>
            ))}
          </ul>
        )}
      </DataState>
    </Card>
  )
}
