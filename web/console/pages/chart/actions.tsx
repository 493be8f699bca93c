import { Button, Menu } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, memo, Suspense, useState } from 'react'
import type { AnalyticsChart, AnalyticsExplanation } from '../../../../clients/typescript/src/index.ts'
import { titleOfChart } from '../../data/charts.ts'
import { addressOfCall, type Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { isoDay } from '../../data/range.ts'
import { keyOf } from '../../data/read.ts'
import { request } from '../../data/request.ts'
import { useDenied } from '../../data/session.ts'
import { viewQuery } from '../../data/views.ts'
import { searchOfChart } from '../../parts/asked-chart.ts'
import { ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { rangeText } from '../../parts/range-pick.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { isCut } from './numbers.tsx'
import { wholeOf } from './picture.ts'
import type { Question } from './question.ts'

const SaveView = lazy(() => import('../../parts/save-view.tsx'))
const Annotate = lazy(() => import('./annotate.tsx'))
const files = () => import('./files.tsx')

type Props = { question: Question; chart: AnalyticsChart | undefined; input: Input<'v4GetAnalyticsChart'> }

/** The call, the files, and what is kept of a chart. */
export const Actions = memo(function Actions({ question, chart, input }: Props) {
  const [overlay, setOverlay] = useState<'view' | 'annotation'>()
  const denied = useDenied('editor', usePlace()?.project)
  const downloads = useDownloads(question, chart)
  const { code, range, zone, query } = question
  const go = useGo()
  const close = () => setOverlay(undefined)
  return (
    <>
      <ShowTheCall name="v4GetAnalyticsChart" input={input} />
      <ExportMenu downloads={downloads} />
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <Button variant="default" size="xs" leftSection={<Icon name="pin" size={14} />}>
            {t('Keep')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item disabled={denied !== undefined} onClick={() => setOverlay('view')}>
            {t('Save this view')}
            {denied && <span className="soft"> · {t(denied)}</span>}
          </Menu.Item>
          <Menu.Item disabled={denied !== undefined} onClick={() => go({ to: '/reports', search: scheduled(question) })}>
            {t('Schedule')}
            {denied && <span className="soft"> · {t(denied)}</span>}
          </Menu.Item>
          <Menu.Item disabled={denied !== undefined} onClick={() => setOverlay('annotation')}>
            {t('Annotate')}
            {denied && <span className="soft"> · {t(denied)}</span>}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Button
        size="xs"
        leftSection={<Icon name="link" size={14} />}
        onClick={() => void navigator.clipboard.writeText(location.href).then(() => say(t('A link to exactly this is copied')))}
      >
        {t('Copy link')}
      </Button>
      <Suspense fallback={null}>
        {overlay === 'view' && (
          <SaveView
            asked={{
              kind: 'chart',
              code,
              query: viewQuery(query),
              range,
              name: `${titleOfChart(code)}, ${rangeText(range, zone).toLowerCase()}`,
            }}
            onClose={close}
          />
        )}
        {overlay === 'annotation' && <Annotate question={question} onClose={close} />}
      </Suspense>
    </>
  )
})

/** The form of a report that shows this chart, with the days that the schedule gives. */
const scheduled = ({ code, query, zone }: Question) => {
  const { unit: _, ...search } = searchOfChart({ query: viewQuery(query) })
  return { ...search, at: 'new', chart: code, tz: zone }
}

/** What is shown, as files; where series are left out of the drawing, the CSV has all of them. */
function useDownloads(question: Question, chart: AnalyticsChart | undefined) {
  const place = usePlace()
  const client = useQueryClient()
  if (chart === undefined || place === undefined) return []
  const { code, query, zone, range } = question
  const file = `${code}-${isoDay(range.from, zone)}`
  const read = <Result,>(name: 'v4GetAnalyticsChart' | 'v4ExplainAnalyticsChart', asked: Input<'v4ExplainAnalyticsChart'>) =>
    client.fetchQuery<Result>({
      queryKey: keyOf(place, name, asked),
      queryFn: ({ signal }) => request<Result>(addressOfCall(place, name, asked), { method: 'GET', signal }),
    })
  const whole = () =>
    isCut(chart, question)
      ? read<AnalyticsChart>('v4GetAnalyticsChart', { path: { chart_code: code }, query: { ...query, max_series: 500 } })
      : Promise.resolve(chart)
  return [
    { says: t('CSV'), file: `${file}.csv`, make: async () => (await files()).csvOf(await whole(), zone) },
    { says: t('Markdown'), file: `${file}.md`, make: async () => (await files()).markdownOf(chart, question) },
    { says: t('SVG'), file: `${file}.svg`, make: async () => (await files()).svgOf(chart, question) },
    { says: t('PNG'), file: `${file}.png`, make: async () => (await files()).pngOf(chart, question) },
    {
      says: t('SQL that answers the figure'),
      file: `${file}.sql`,
      make: async () => {
        const only = wholeOf(chart) ? {} : { series: chart.series[0]?.label ?? '' }
        const { sql } = await read<AnalyticsExplanation>('v4ExplainAnalyticsChart', {
          path: { chart_code: code },
          query: { ...query, ...only },
        })
        return new Blob([`${sql}\n`], { type: 'application/sql' })
      },
    },
  ]
}
