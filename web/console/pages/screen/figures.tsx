import { useMemo, useState } from 'react'
import type { ScreenAnalyticsPeriod, ScreenKpi } from '../../../../clients/typescript/src/index.ts'
import { Chart } from '../../chart/chart.tsx'
import { bucketText, type Picture } from '../../chart/picture.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { type KpiLook, OF_ONE, OVERVIEW, shownAs, useScreenQuestion } from '../../data/screens.ts'
import { Delta, Figure } from '../../parts/amount.tsx'
import { Card } from '../../parts/card.tsx'
import { CurrencyPick } from '../../parts/currency-pick.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Fault } from '../../parts/fault.tsx'
import { figure } from '../../parts/format.ts'
import { Freshness } from '../../parts/freshness.tsx'
import { RangePick, rangeText } from '../../parts/range-pick.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Unconverted } from '../../parts/unconverted.tsx'

const LOOKS: Readonly<Record<string, KpiLook>> = { ...OVERVIEW, ...OF_ONE }
const CODES = Object.keys(LOOKS)
const FIRST_CODE = 'views'
/** Rows before the others are asked for. */
const FIRST = 7

type Kpis = Readonly<Record<string, ScreenKpi>>
type Shown = { kpis: Kpis; period: ScreenAnalyticsPeriod; code: string; currency: string; zone: string; range: string }

/** What was sold on a screen and how often it was seen: all figures beside each other, one of them as a chart, their course as a table. */
export default function Figures({ id }: { id: string }) {
  const [search] = useAddress()
  const { range, zone, currency, query } = useScreenQuestion(search)
  const input = { path: { screen_id: id }, query }
  const own = useRead('v4GetScreenAnalytics', input)
  const seen = useRead('v4GetScreensAnalyticsOverview', { query: { ...query, 'screens[]': [id] } })
  const error = own.error ?? seen.error
  const retry = () => Promise.all([own.isError && own.refetch(), seen.isError && seen.refetch()])
  const kpis: Kpis = { ...seen.data?.data.screens?.[0]?.kpis, ...own.data?.data.kpis }
  const code = search.figure !== undefined && Object.hasOwn(LOOKS, search.figure) ? search.figure : FIRST_CODE
  const isStale = own.isPlaceholderData || seen.isPlaceholderData
  const answers = [own.data, seen.data].flatMap(answer =>
    answer?.as_of === undefined ? [] : [{ as_of: answer.as_of, behind: answer.behind }],
  )
  const period = own.data?.data.period ?? seen.data?.data.period
  return (
    <section aria-label={t('Figures')}>
      <div className="filters">
        <RangePick range={range} zone={zone} />
        <CurrencyPick />
        <span className="screen-fresh">
          <Freshness of={answers} />
        </span>
        <ShowTheCall name="v4GetScreenAnalytics" input={input} />
        {period && <ExportMenu downloads={[{ says: t('These figures as CSV'), file: `${id}.csv`, make: () => asCsv(kpis, period) }]} />}
      </div>
      {error && (
        <div className="tiles-fault">
          <Fault error={error} retry={retry} />
        </div>
      )}
      <Unconverted money={own.data?.unconverted} />
      {period && kpis[code] ? (
        <div className={isStale ? 'stale' : undefined} aria-busy={isStale || undefined}>
          <Course kpis={kpis} period={period} code={code} currency={currency} zone={zone} range={rangeText(range, zone)} />
        </div>
      ) : (
        error === null && <Bars shape="chart" />
      )}
    </section>
  )
}

/** One figure as a chart, beside all of them. */
function Course({ kpis, period, code, currency, zone, range }: Shown) {
  const { name, measure } = LOOKS[code]!
  const kpi = kpis[code]
  const picture = useMemo(
    (): Picture => ({
      lines: [{ label: t(name), values: kpi?.sparkline.map(value => shownAs(value, measure)) ?? [] }],
      starts: period.starts ?? [],
      kind: measure === 'percent' ? 'line' : 'column',
      stacked: false,
      ...{ measure, currency, zone, unit: period.unit, openFrom: period.partial_from ?? null },
    }),
    [kpi, period, name, measure, currency, zone],
  )
  const total = kpi ? figure(shownAs(kpi.value, measure), measure, currency) : t('no value')
  const isNothing = kpi?.sparkline.every(value => value === 0)
  return (
    <>
      <div className="grid two screen-course">
        <Card title={t(name)} right={range}>
          {isNothing ? (
            <Empty icon="chart" title={t('Nothing in this range')} why={t('Nothing of it was recorded for this screen in these days.')} />
          ) : (
            <Chart picture={picture} label={t('{name}, {range}: {total} in all', { name: t(name), range, total })} />
          )}
        </Card>
        <All kpis={kpis} code={code} currency={currency} />
      </div>
      <Numbers {...{ kpis, period, code, currency, zone, range }} />
    </>
  )
}

/** Every figure with its change; one is chosen for the chart. */
function All({ kpis, code, currency }: Pick<Shown, 'kpis' | 'code' | 'currency'>) {
  const [, set] = useAddress()
  return (
    <Card title={t('Figures')} right={t('against the same length before')} flush>
      <ul className="figure-rows">
        {CODES.map(one => {
          const { name, measure, good, moving = false } = LOOKS[one]!
          const kpi = kpis[one]
          return (
            <li key={one}>
              <button
                type="button"
                className={one === code ? 'figure-row on' : 'figure-row'}
                aria-pressed={one === code}
                onClick={() => set({ figure: one === FIRST_CODE ? undefined : one })}
              >
                <span>{t(name)}</span>
                <b>{kpi ? <Figure value={shownAs(kpi.value, measure)} measure={measure} currency={currency} short /> : '–'}</b>
                <span className="figure-change">{kpi && <Delta now={kpi.value} before={kpi.prev} good={good} moving={moving} />}</span>
              </button>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}

type Row = { start: number; at: number }

/** The same numbers as a table, the latest first. On a page that is not wide, that of the chart alone. */
function Numbers({ kpis, period, code, currency, zone }: Shown) {
  const [all, setAll] = useState(false)
  const starts = period.starts ?? []
  const rows = starts.map((start, at): Row => ({ start, at })).reverse()
  const shown = (of: string, value: number | undefined) => {
    const { measure } = LOOKS[of]!
    if (value === undefined) return <span className="faint">–</span>
    return <Figure value={shownAs(value, measure)} measure={measure} currency={currency} />
  }
  const columns: Column<Row>[] = [
    {
      key: 'bucket',
      head: t(plain(period.unit)),
      cell: ({ start, at }) => (
        <span className="nowrap">
          {bucketText(starts, at, period.unit, zone, true)}
          {start === period.partial_from && <span className="soft"> {t('so far')}</span>}
        </span>
      ),
    },
    ...CODES.map(
      (of): Column<Row> => ({
        key: of,
        head: t(LOOKS[of]!.short ?? LOOKS[of]!.name),
        figures: true,
        wideOnly: of !== code,
        cell: ({ at }) => shown(of, kpis[of]?.sparkline[at]),
      }),
    ),
  ]
  return (
    <Card flush className="screen-numbers">
      <Table
        caption={t('The same numbers as a table')}
        columns={columns}
        rows={all ? rows : rows.slice(0, FIRST)}
        rowKey={({ start }) => String(start)}
        total={[t('Whole range'), ...CODES.map(of => shown(of, kpis[of]?.value))]}
      />
      {!all && rows.length > FIRST && (
        <button type="button" className="chip more" onClick={() => setAll(true)}>
          {t('Show all {n}', { n: rows.length })}
        </button>
      )}
    </Card>
  )
}

const asCsv = (kpis: Kpis, { starts = [] }: ScreenAnalyticsPeriod) =>
  csv([
    ['start', ...CODES],
    ...starts.map((start, at) => [new Date(start * 1_000).toISOString(), ...CODES.map(code => kpis[code]?.sparkline[at])]),
  ])
