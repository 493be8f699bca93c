import './insights.css'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AnalyticsInsight, AnalyticsInsights } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { addressOfCall } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { keyOf, useRead } from '../../data/read.ts'
import { request } from '../../data/request.ts'
import { useOne } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { INSIGHT_LOOKS } from '../../parts/insight-looks.ts'
import { Page } from '../../parts/page.tsx'
import { curlOf, ShowTheCall } from '../../parts/show-the-call.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

const PERIODS = ['7', '14', '30', '90'] as const
type Period = (typeof PERIODS)[number]
const FIRST: Period = '30'
/** The range of a chart that is about the same days. */
const RANGE: Readonly<Record<Period, string>> = { 7: '7d', 14: '14d', 30: '30d', 90: '90d' }

const HEALTH = {
  healthy: { text: 'Healthy', tone: 'good' },
  watch: { text: 'Worth watching', tone: 'warn' },
  critical: { text: 'Critical', tone: 'bad' },
} as const

/** What the service finds worth a look in the last days against those before, each with the chart in question. */
export default function Insights() {
  const [search, set] = useAddress()
  const period = PERIODS.find(days => days === search.period) ?? FIRST
  const input = { query: { period: Number(period) } }
  const read = useRead('v4GetAnalyticsInsights', input, { topics: [], every: 600_000 })
  const again = useAgain(Number(period))
  return (
    <Page
      title={t('Insights')}
      about={t('What moved in the last {n} complete days, in UTC, against the {n} days before', { n: period })}
      actions={
        <>
          <ShowTheCall name="v4GetAnalyticsInsights" input={input} />
          <Act denied={undefined} size="xs" variant="default" loading={again.isPending} onClick={() => void again.ask()}>
            {t('Compute now')}
          </Act>
        </>
      }
    >
      <div className="filters">
        <Choice
          name={t('Period')}
          value={period}
          options={PERIODS.map(days => [days, `${days} days`] as const)}
          onChange={days => set({ period: days === FIRST ? undefined : days })}
        />
      </div>
      {again.error !== undefined && <Fault error={again.error} />}
      <DataState of={read} rows={8}>
        {insights => (
          <>
            <Verdict of={insights} />
            <Found of={insights} period={period} input={input} />
          </>
        )}
      </DataState>
    </Page>
  )
}

/** Computes what is kept anew. */
function useAgain(period: number) {
  const place = usePlace()
  const client = useQueryClient()
  const [isPending, setPending] = useState(false)
  const [error, setError] = useState<unknown>()
  const ask = useOne(async () => {
    setPending(true)
    setError(undefined)
    try {
      const query = { period }
      const address = addressOfCall(place!, 'v4GetAnalyticsInsights', { query: { ...query, force: true } })
      client.setQueryData(keyOf(place, 'v4GetAnalyticsInsights', { query }), await request(address, { method: 'GET' }))
    } catch (failure) {
      setError(failure)
    } finally {
      setPending(false)
    }
  })
  return { ask, isPending, error }
}

function Verdict({
  of: { health, health_score, summary, generated_at, is_stale, is_insufficient_data, behind },
}: {
  of: AnalyticsInsights
}) {
  return (
    <Card className="insights-verdict">
      <div className="insights-score">
        {health === null ? (
          <strong>{is_insufficient_data ? t('Not enough data yet') : t('Not computed yet')}</strong>
        ) : (
          <>
            <StatusChip status={health} tone={HEALTH[health].tone} label={t(HEALTH[health].text)} />
            <meter
              min={0}
              max={10}
              value={health_score}
              className={HEALTH[health].tone}
              aria-label={t('Health, {n} of 10', { n: health_score })}
            />
            <span className="soft">
              <b>{health_score}</b> {t('of 10')}
            </span>
          </>
        )}
      </div>
      {health !== null && <p>{summary}</p>}
      <p className="soft insights-age">
        {t('Computed')} <Time at={generated_at} relative />
        {is_stale && ` · ${t('older than six hours: what has happened since is not in it')}`}
        {behind !== undefined &&
          behind > 0 &&
          ` · ${counted(behind, '{n} person has changes that are not counted yet', '{n} people have changes that are not counted yet')}`}
      </p>
    </Card>
  )
}

function Found({
  of: { insights, is_insufficient_data },
  period,
  input,
}: {
  of: AnalyticsInsights
  period: Period
  input: { query: { period: number } }
}) {
  if (insights.length === 0)
    return (
      <Card>
        <Empty
          icon="insight"
          title={is_insufficient_data ? t('Not enough data yet') : t('Nothing is kept')}
          why={t('It takes 30 users and 10 paid transactions in both periods together before anything is said.')}
          curl={curlOf('v4GetAnalyticsInsights', input)}
        />
      </Card>
    )
  return (
    <Card flush className="insights-found">
      <ul className="line" aria-label={t('Insights')}>
        {insights.map(insight => (
          <Insight key={insight.metric + insight.title} of={insight} period={period} />
        ))}
      </ul>
    </Card>
  )
}

function Insight({ of: { type, metric, title, body, action }, period }: { of: AnalyticsInsight; period: Period }) {
  const { tone, icon, says } = INSIGHT_LOOKS[type]
  return (
    <li>
      <span className={`node ${tone}`}>
        <Icon name={icon} size={14} />
      </span>
      <div>
        <h2 className="line-title">{title}</h2>
        <p className="insights-body">{body}</p>
        {action && <p className="line-more">{action}</p>}
        <To to={`/charts/${metric}`} search={{ range: RANGE[period] }} className="link insights-chart">
          {t('Chart: {name}', { name: titleOfChart(metric) })}
        </To>
      </div>
      <span className="line-when">{t(says)}</span>
    </li>
  )
}
