import { figure } from '../parts/format.ts'
import { t } from '../parts/t.ts'
import type { Layout } from './layout.ts'
import { swatchOf } from './palette.ts'
import { bucketOf, type Picture } from './picture.ts'

/** So many series are named in the card; the table has all. */
const MOST = 9

type Row = { label: string; value: number | null; at: number; place: number }

export function rowsOf(layout: Layout, at: number): Row[] {
  const rows = layout.shown.map(({ line, at: number }, place) => ({ label: line.label, value: line.values[at] ?? null, at: number, place }))
  return layout.stacked || rows.length > 3 ? rows.sort((a, b) => Math.abs(b.value ?? 0) - Math.abs(a.value ?? 0)) : rows
}

/** The bucket in words, with what is incomplete. */
export const titleOf = (picture: Picture, layout: Layout, at: number) =>
  [bucketOf(picture, at, true), at >= layout.open && stillOf(picture, at)].filter(Boolean).join(' · ')

/** The last bucket of sums is cut by now; the others wait for what time decides. */
const stillOf = ({ starts, labels }: Picture, at: number) =>
  at === starts.length - 1 && labels === undefined ? t('so far') : t('still moving')

/** The values of the bucket in focus, in the half of the chart where it covers nothing of it. */
export function Card({
  picture,
  layout,
  at,
  series,
  hint,
}: {
  picture: Picture
  layout: Layout
  at: number
  series: number | undefined
  hint: string | undefined
}) {
  const rows = rowsOf(layout, at)
  const x = layout.x(at)
  const { measure, currency } = picture
  const side = x > layout.width / 2 ? { right: layout.width - x + 14 } : { left: x + 14 }
  const before = layout.previous?.[at]
  return (
    <div className="chart-card" style={side} aria-hidden="true">
      <div className="chart-card-title">{titleOf(picture, layout, at)}</div>
      {rows.slice(0, MOST).map(row => (
        <div key={row.at} className={row.place === series ? 'chart-card-row on' : 'chart-card-row'}>
          <i className={swatchOf(row.at)} />
          <span>{row.label}</span>
          <b>{row.value === null ? '–' : figure(row.value, measure, currency)}</b>
        </div>
      ))}
      {rows.length > MOST && <div className="chart-card-hint">{t('and {n} more in the table', { n: rows.length - MOST })}</div>}
      {before !== null && before !== undefined && (
        <div className="chart-card-row">
          <i className="swatch before" />
          <span>{t('Before')}</span>
          <b>{figure(before, measure, currency)}</b>
        </div>
      )}
      {hint && <div className="chart-card-hint">{hint}</div>}
    </div>
  )
}
