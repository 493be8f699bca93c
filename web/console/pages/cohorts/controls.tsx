import type { AnalyticsCohorts, AnalyticsCohortsMeta } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Choice } from '../../parts/choice.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Pick } from '../../parts/pick.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { METRIC_TEXTS, type Metric } from './cells.ts'
import { type Question, ZONE } from './question.ts'

const ANCHORS = { new_customers: 'New users', initial_conversions: 'First trial or payment', new_paying: 'First payment' } as const
const PRESETS = ['180d', '365d', '730d', 'this_year', 'last_year']

/** What is asked: periods, anchor, figure, range, split, filters, currency. */
export function Controls({
  question,
  meta,
  answer,
}: {
  question: Question
  meta: AnalyticsCohortsMeta | undefined
  answer: AnalyticsCohorts | undefined
}) {
  const { mode, grouping, metric, split, value, query, range, search } = question
  const [, set] = useAddress()
  const splits = meta?.segmentations ?? []
  const values = answer?.segments ?? []
  const metrics = (Object.keys(METRIC_TEXTS) as Metric[]).filter(one => one !== 'share' || mode === 'by_renewals')
  return (
    <>
      <div className="filters">
        <Choice
          name={t('Periods')}
          value={mode}
          options={[
            ['by_renewals', 'By renewals'],
            ['by_days', 'By days'],
          ]}
          onChange={one => set({ mode: one, metric: undefined, at: undefined })}
        />
        <Pick
          name={t('Began with')}
          text={t('Since {anchor}', { anchor: ANCHORS[query.cohort_definition ?? 'new_paying'].toLowerCase() })}
          icon="user"
          options={Object.entries(ANCHORS).map(([code, label]) => ({ code, label: t(label) }))}
          chosen={[query.cohort_definition ?? 'new_paying']}
          onPick={anchor => set({ anchor, at: undefined })}
        />
        <Pick
          name={t('Figure')}
          text={t(METRIC_TEXTS[metric])}
          icon="chart"
          options={metrics.map(code => ({ code, label: t(METRIC_TEXTS[code]) }))}
          chosen={[metric]}
          onPick={one => set({ metric: one })}
        />
        <RangePick range={range} zone={ZONE} presets={PRESETS} />
        <Choice
          name={t('Length of cohorts')}
          value={grouping}
          options={[
            ['week', 'Week'],
            ['month', 'Month'],
            ['quarter', 'Quarter'],
          ]}
          onChange={group => set({ group, at: undefined })}
        />
        <Choice
          name={t('Shown as')}
          value={search.as === 'curve' ? 'curve' : 'table'}
          options={[
            ['table', 'Table'],
            ['curve', 'Curve'],
          ]}
          onChange={as => set({ as: as === 'curve' ? as : undefined })}
        />
      </div>
      <div className="filters">
        <Pick
          name={t('Split by')}
          text={
            split
              ? t('By {attribute}', { attribute: (splits.find(one => one.code === split)?.label ?? plain(split)).toLowerCase() })
              : t('Split by')
          }
          icon="branch"
          on={split !== undefined}
          options={[...(split ? [{ code: '', label: t('No split') }] : []), ...splits]}
          chosen={split ? [split] : []}
          onPick={one => set({ split: one || undefined, value: undefined, at: undefined })}
        />
        {split && values.length > 0 && (
          <Pick
            name={t('Value')}
            text={value === undefined ? t('All values') : (values.find(({ code }) => code === value)?.label ?? value)}
            on={value !== undefined}
            options={[{ code: '', label: t('All values') }, ...values.map(({ code, label }) => ({ code, label }))]}
            chosen={[value ?? '']}
            onPick={one => set({ value: one || undefined, at: undefined })}
          />
        )}
        <Filters conditions={meta?.filter_conditions} />
        <Choice
          name={t('Money')}
          value={query.revenue_type ?? 'gross'}
          options={[
            ['gross', 'Gross'],
            ['net', 'Net'],
          ]}
          onChange={money => set({ money: money === 'net' ? money : undefined })}
        />
        <CurrencyPick />
      </div>
    </>
  )
}
