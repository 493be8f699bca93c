import { ActionIcon, NativeSelect } from '@mantine/core'
import { CHARTS, titleOfChart } from '../../data/charts.ts'
import { useRead } from '../../data/read.ts'
import { type AskedChart, filtersOfChart } from '../../parts/asked-chart.ts'
import { Choice } from '../../parts/choice.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { FilterChips } from '../../parts/filters.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import { unitsOf } from './draft.ts'
import { type Fields, Row } from './form-fields.tsx'

const MOST_CHARTS = 6
const UNITS = { hour: 'By hour', day: 'By day', week: 'By week' } as const

/** What a report of charts shows: up to six charts with their settings, or a saved view. */
export function ChartsField(fields: Fields) {
  const { draft, change, faultOf } = fields
  return (
    <>
      <Row label={t('Shows')} fault={faultOf('charts') ?? faultOf('view_id')}>
        <Choice
          name={t('Shows')}
          value={draft.shows}
          options={[
            ['charts', 'Charts'],
            ['view', 'A saved view'],
          ]}
          onChange={shows => change({ shows })}
        />
      </Row>
      {draft.shows === 'charts' ? <Charts {...fields} /> : <View {...fields} />}
      <p className="soft report-chart-note">
        {t(
          'Its days are the whole ones before the day of the slot, on the clocks of its zone, against as many days before. A mail has a picture of each.',
        )}
      </p>
    </>
  )
}

function Charts({ draft, change }: Fields) {
  const put = (at: number, chart: AskedChart) => change({ charts: draft.charts.map((one, i) => (i === at ? chart : one)) })
  return (
    <>
      {draft.charts.length > 0 && (
        <ul className="report-charts">
          {draft.charts.map((chart, at) => (
            <ChartRow
              // biome-ignore lint/suspicious/noArrayIndexKey: a chart may stand there twice, and its place is what it is
              key={at}
              chart={chart}
              days={draft.included_range_days}
              onChange={query => put(at, { ...chart, query })}
              onRemove={() => change({ charts: draft.charts.filter((_, i) => i !== at) })}
            />
          ))}
        </ul>
      )}
      {draft.charts.length < MOST_CHARTS && (
        <div>
          <Pick
            name={t('Add a chart')}
            text={t('Add a chart')}
            icon="chart"
            dashed
            options={CHARTS.flatMap(({ group, charts }) => charts.map(({ code, title }) => ({ code, label: t(title), group: t(group) })))}
            chosen={[]}
            onPick={code => change({ charts: [...draft.charts, { code, query: {} }] })}
          />
        </div>
      )}
    </>
  )
}

type Query = NonNullable<AskedChart['query']>
type RowProps = { chart: AskedChart; days: number; onChange: (query: Query) => void; onRemove: () => void }

function ChartRow({ chart, days, onChange, onRemove }: RowProps) {
  const { code, query = {} } = chart
  const meta = useRead('v4GetAnalyticsChartMeta', { path: { chart_code: code } })
  const { segmentation, unit, ...rest } = query
  const splits = meta.data?.segmentations ?? []
  const split = typeof segmentation === 'string' ? segmentation : ''
  const known = splits.some(one => one.code === split) || split === '' ? [] : [{ code: split, label: split }]
  const filter = (name: string, values: readonly string[]) =>
    onChange(
      Object.fromEntries([
        ...Object.entries(query).filter(([key]) => key !== `filter[${name}][]`),
        ...(values.length > 0 ? [[`filter[${name}][]`, [...values]]] : []),
      ]),
    )
  return (
    <li>
      <div className="report-chart-head">
        <strong>{titleOfChart(code)}</strong>
        <ActionIcon
          variant="subtle"
          size={26}
          color="gray"
          aria-label={t('Remove {chart}', { chart: titleOfChart(code) })}
          onClick={onRemove}
        >
          <Icon name="close" size={13} />
        </ActionIcon>
      </div>
      <div className="form-pair">
        <NativeSelect
          size="xs"
          aria-label={t('{chart}: split by', { chart: titleOfChart(code) })}
          data={[
            { value: '', label: t('Not split') },
            ...[...splits, ...known].map(one => ({ value: one.code, label: t('By {what}', { what: one.label.toLowerCase() }) })),
          ]}
          value={split}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...rest, ...(unit !== undefined && { unit }), ...(value !== '' && { segmentation: value }) })
          }
        />
        <NativeSelect
          size="xs"
          aria-label={t('{chart}: unit', { chart: titleOfChart(code) })}
          data={unitsOf(days).map(value => ({ value, label: t(UNITS[value]) }))}
          value={unitsOf(days).find(one => one === unit) ?? unitsOf(days)[0]}
          onChange={({ currentTarget: { value } }) => onChange({ ...rest, ...(split !== '' && { segmentation: split }), unit: value })}
        />
      </div>
      <section className="filters report-chart-filters" aria-label={t('{chart}: filters', { chart: titleOfChart(code) })}>
        <FilterChips conditions={meta.data?.filter_conditions} given={filtersOfChart(chart)} onChange={filter} />
      </section>
    </li>
  )
}

function View({ draft, change }: Fields) {
  const read = useRead('v4ListAnalyticsViews', { query: { limit: 100 } })
  return (
    <DataState of={read} rows={1}>
      {({ data, has_more }) => {
        const views = data.filter(({ kind }) => kind === 'chart')
        const isGone = draft.view_id !== null && !views.some(({ id }) => id === draft.view_id)
        if (views.length === 0 && !isGone)
          return (
            <p className="notice">
              <Icon name="pin" size={15} />
              {t('No chart is saved as a view yet. Open a chart and choose Keep, Save this view; then it stands here.')}
            </p>
          )
        return (
          <>
            <NativeSelect
              size="xs"
              label={t('View')}
              data={[
                { value: '', label: t('Choose a view'), disabled: true },
                ...views.map(({ id, name }) => ({ value: id, label: name })),
                ...(isGone ? [{ value: draft.view_id!, label: has_more ? draft.view_id! : t('A view that is deleted') }] : []),
              ]}
              value={draft.view_id ?? ''}
              onChange={({ currentTarget }) => change({ view_id: currentTarget.value })}
            />
            {has_more && <p className="soft">{t('The newest hundred views are here.')}</p>}
          </>
        )
      }}
    </DataState>
  )
}
