import type { AnalyticsInsight } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

const DAYS = 30
const MOST = 4

const LOOKS: Record<AnalyticsInsight['type'], { tone: string; icon: IconName }> = {
  critical: { tone: 'bad', icon: 'down' },
  positive: { tone: 'good', icon: 'up' },
  tip: { tone: 'warn', icon: 'eye' },
  info: { tone: 'info', icon: 'info' },
}

/** What the service finds worth a look, each with the chart that shows it. */
export function Moved() {
  const read = useRead('v4GetAnalyticsInsights', { query: { period: DAYS } })
  return (
    <Card title={t('What moved in {n} days', { n: DAYS })} flush>
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
                <span className={`node ${LOOKS[insight.type].tone}`}>
                  <Icon name={LOOKS[insight.type].icon} size={14} />
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
