import type { AnalyticsLtvMeta } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Choice } from '../../parts/choice.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { Filters } from '../../parts/filters.tsx'
import { Pick } from '../../parts/pick.tsx'
import { RangePick } from '../../parts/range-pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Metric, type Question, ZONE } from './question.ts'
import { METRIC_TEXTS } from './texts.ts'

const PRESETS = ['last_month', 'last_quarter', 'last_year', 'this_quarter', 'this_year', '90d', '180d', '365d', '730d']

/** What is asked: who came when, days or renewals, figure, split, filters, currency. */
export function Controls({ question, meta }: { question: Question; meta: AnalyticsLtvMeta | undefined }) {
  const { mode, metric, split, query, range } = question
  const [, set] = useAddress()
  const splits = meta?.segmentations ?? []
  return (
    <div className="filters">
      <RangePick range={range} zone={ZONE} presets={PRESETS} />
      <Choice
        name={t('Points')}
        value={mode}
        options={[
          ['by_days', 'By days'],
          ['by_renewals', 'By renewals'],
        ]}
        onChange={one => set({ mode: one === 'by_days' ? undefined : one })}
      />
      <Choice
        name={t('Figure')}
        value={metric}
        options={(Object.keys(METRIC_TEXTS) as Metric[]).map(one => [one, METRIC_TEXTS[one]] as const)}
        onChange={one => set({ metric: one === 'arpu' ? undefined : one })}
      />
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
        onPick={one => set({ split: one || undefined })}
      />
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
  )
}
