import { Tabs } from '@mantine/core'
import type { AnalyticsChart } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { titleOfChart } from '../../data/charts.ts'
import { useRead } from '../../data/read.ts'
import { useSameEnd } from '../../data/same-end.ts'
import { Drawer } from '../../parts/drawer.tsx'
import { bucket } from '../../parts/format.ts'
import { Pick } from '../../parts/pick.tsx'
import { rangeText } from '../../parts/range-pick.tsx'
import { t } from '../../parts/t.ts'
import { Computed } from './computed.tsx'
import { Facts } from './facts.tsx'
import { wholeOf } from './picture.ts'
import type { Question } from './question.ts'

type Number = { start_time?: number; series?: string; segment?: string }

/** What is behind a number of the chart: the facts, and how they became the number. `at` is the start of its bucket, or `all`. */
export default function Point({ question, chart, at }: { question: Question; chart: AnalyticsChart; at: string }) {
  const { code, search, zone, unit, split, range } = question
  const query = useSameEnd(question.query, 'to', range)
  const [, set] = useAddress()
  const whole = wholeOf(chart)
  const labels = chart.series.map(({ label }) => label)
  const line = labels.find(label => label === search.line) ?? (whole ? undefined : labels[0])
  const number: Number = {
    ...(at !== 'all' && { start_time: Number(at) }),
    ...(line !== undefined && (split ? { segment: line } : { series: line })),
  }
  const input = { path: { chart_code: code }, query: { ...query, ...number } }
  const explained = useRead('v4ExplainAnalyticsChart', input, { topics: ['facts'] })
  const when = at === 'all' ? rangeText(range, zone) : bucket(Number(at), unit, zone, true)
  const title = `${titleOfChart(code)} · ${when}`
  const close = () => set({ at: undefined, tab: undefined, line: undefined, late: undefined })
  return (
    <Drawer title={title} onClose={close}>
      {labels.length > 1 && (
        <div className="point-line">
          <Pick
            name={t('Series')}
            text={line ?? t('{whole}: all series together', { whole: whole?.label ?? '' })}
            options={[
              ...(whole ? [{ code: '', label: t('{whole}: all series together', { whole: whole.label }) }] : []),
              ...labels.map(label => ({ code: label, label })),
            ]}
            chosen={[line ?? '']}
            onPick={label => set({ line: label || undefined })}
          />
        </div>
      )}
      <Tabs
        keepMounted={false}
        value={search.tab === 'computed' ? 'computed' : 'facts'}
        onChange={tab => set({ tab: tab === 'facts' ? undefined : (tab ?? undefined) })}
      >
        <Tabs.List>
          <Tabs.Tab value="facts">{t('Facts')}</Tabs.Tab>
          <Tabs.Tab value="computed">{t('How it is computed')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="facts">
          <Facts input={input} explained={explained} zone={zone} title={line === undefined ? title : `${title} · ${line}`} />
        </Tabs.Panel>
        <Tabs.Panel value="computed">
          <Computed read={explained} input={input} />
        </Tabs.Panel>
      </Tabs>
    </Drawer>
  )
}
