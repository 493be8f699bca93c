import type { ReactNode } from 'react'
import { useKeys } from './keys.ts'
import { t } from './t.ts'
import { type Target, To, useGo } from './to.tsx'

export type Column<Row> = {
  key: string
  head: ReactNode
  cell: (row: Row) => ReactNode
  /** Figures: to the right, in digits of one width. */
  figures?: boolean
  /** Left out on narrow screens. */
  wideOnly?: boolean
  /** The name by which the address sorts; without it the column cannot be sorted. */
  sort?: string
}

type Props<Row> = {
  /** What the table shows, for readers: "Customers". */
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Where a row leads. Its first cell is the link; a click anywhere in the row follows it. */
  target?: (row: Row) => Target
  /** Instead of a target: a row opens something on this page. */
  onOpen?: (row: Row) => void
  /** `-net` sorts by `net`, the greatest first. */
  sort?: string | undefined
  onSort?: (sort: string) => void
  /** A first row of totals: one cell for each column. */
  total?: readonly ReactNode[]
}

/** A table: its rows are reached with `j` and `k` and opened with Enter, its head sorts. Wide tables scroll in themselves. */
export function Table<Row>({ caption, columns, rows, rowKey, target, onOpen, sort, onSort, total }: Props<Row>) {
  const go = useGo()
  const opens = target !== undefined || onOpen !== undefined
  useKeys(opens ? ROW_KEYS : NO_KEYS)
  const open = (row: Row) => (target ? go(target(row)) : onOpen?.(row))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="scroll" aria-label={caption} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {columns.map(column => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {total && (
            <tr className="total">
              {columns.map((column, at) => (
                <td key={column.key} className={classOf(column)}>
                  {total[at]}
                </td>
              ))}
            </tr>
          )}
          {rows.map(row => (
            <tr
              key={rowKey(row)}
              className={opens ? 'opens' : undefined}
              onClick={opens ? event => isOwnClick(event) && open(row) : undefined}
            >
              {columns.map((column, at) => (
                <td key={column.key} className={classOf(column)}>
                  {at > 0 || !opens ? (
                    column.cell(row)
                  ) : target ? (
                    <To {...target(row)} className="row-link" data-row>
                      {column.cell(row)}
                    </To>
                  ) : (
                    <button type="button" className="row-link" data-row onClick={() => open(row)}>
                      {column.cell(row)}
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Head<Row>({
  column,
  sort,
  onSort,
}: {
  column: Column<Row>
  sort: string | undefined
  onSort: ((sort: string) => void) | undefined
}) {
  const by = column.sort
  if (by === undefined || onSort === undefined)
    return (
      <th scope="col" className={classOf(column)}>
        {column.head}
      </th>
    )
  const direction = sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : 'none'
  return (
    <th scope="col" className={classOf(column)} aria-sort={direction}>
      <button type="button" className="sort" onClick={() => onSort(direction === 'descending' ? by : `-${by}`)}>
        {column.head}
        <span aria-hidden="true">{direction === 'ascending' ? ' ↑' : direction === 'descending' ? ' ↓' : ''}</span>
      </button>
    </th>
  )
}

const classOf = ({ figures, wideOnly }: { figures?: boolean; wideOnly?: boolean }) =>
  [figures && 'num', wideOnly && 'wide-only'].filter(Boolean).join(' ') || undefined

/** A click on a link or button in a row does what that does; and whoever selects text does not want to leave. */
const isOwnClick = (event: React.MouseEvent) =>
  !(event.target as Element).closest('a, button, input, label') && getSelection()?.isCollapsed !== false

export function step(by: 1 | -1) {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.focus()
}
const NO_KEYS = {}
const ROW_KEYS = { j: { says: t('Next row'), run: () => step(1) }, k: { says: t('Previous row'), run: () => step(-1) } }
