import { type KeyboardEvent, useRef, useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { figure } from '../../parts/format.ts'
import { counted, plain, t } from '../../parts/t.ts'
import { type Cell, METRIC_TEXTS, type Row, stepOf, textOf } from './cells.ts'
import type { Question } from './question.ts'

type Props = {
  rows: readonly Row[]
  labels: readonly string[]
  question: Question
  most: number
  currency: string
  onOpen: (row: Row, index: number) => void
}

const WAYS: Record<string, [down: number, right: number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  PageUp: [-10, 0],
  PageDown: [10, 0],
}

/** Rows of cohorts, columns of periods: one stop of the Tab key, in which arrows move. A cell opens the people in it. */
export function Triangle({ rows, labels, question, most, currency, onOpen }: Props) {
  const { metric, grouping, split, value } = question
  const [, set] = useAddress()
  const body = useRef<HTMLTableSectionElement>(null)
  const [at, setAt] = useState<readonly [row: number, column: number]>([0, 1])
  const width = Math.max(0, ...rows.map(({ cells }) => cells.findLastIndex(cell => cell.value !== undefined) + 1))
  const shown = labels.slice(0, width)
  const onKeyDown = (event: KeyboardEvent) => {
    const [row, column] = at
    const way = WAYS[event.key]
    const to =
      event.key === 'Home'
        ? ([row, 0] as const)
        : event.key === 'End'
          ? ([row, width] as const)
          : way && ([row + way[0], column + way[1]] as const)
    if (!to) return
    event.preventDefault()
    const next = [Math.min(rows.length - 1, Math.max(0, to[0])), Math.min(width, Math.max(0, to[1]))] as const
    const found = nearest(body.current!, next)
    if (!found) return
    setAt(found.at)
    found.button.focus()
  }
  const tabOf = (row: number, column: number) => (row === at[0] && column === at[1] ? 0 : -1)
  const heading = split && value === undefined ? t('Value') : t(plain(grouping))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="scroll" aria-label={t('Cohorts, {figure}', { figure: t(METRIC_TEXTS[metric]) })} tabIndex={0}>
      <table className="table heat" onKeyDown={onKeyDown}>
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            <th scope="col" className="num">
              {t('Users')}
            </th>
            {shown.map(label => (
              <th key={label} scope="col" className="num">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row, place) => (
            <tr key={row.key} className={row.isTotal ? 'total' : undefined}>
              <th scope="row">
                {split && value === undefined && row.segment !== undefined ? (
                  <button type="button" className="row-link heat-label" title={row.label} onClick={() => set({ value: row.segment })}>
                    {row.label}
                  </button>
                ) : (
                  <span className="heat-label">{row.label}</span>
                )}
              </th>
              <td className="num users">
                <button
                  type="button"
                  data-at={`${place}:0`}
                  tabIndex={tabOf(place, 0)}
                  onFocus={() => setAt([place, 0])}
                  aria-label={t('{label}: {n} users', { label: row.label, n: figure(row.users) })}
                  onClick={() => onOpen(row, 0)}
                >
                  {figure(row.users)}
                </button>
              </td>
              {shown.map((label, column) => {
                const cell = row.cells[column]
                return cell?.value === undefined ? (
                  <td key={label} className="num nobody">
                    <span title={t('Nobody had the time to get there yet')}>
                      <span aria-hidden="true">·</span>
                      <span className="unseen">{t('not reached yet')}</span>
                    </span>
                  </td>
                ) : (
                  <td key={label} className={`num h${stepOf(cell.value, most)}${cell.moving ? ' moving' : ''}`}>
                    <button
                      type="button"
                      data-at={`${place}:${column + 1}`}
                      tabIndex={tabOf(place, column + 1)}
                      onFocus={() => setAt([place, column + 1])}
                      title={openText(cell)}
                      aria-label={[`${row.label} ${label}: ${textOf(cell.value, metric, currency)}`, openText(cell)]
                        .filter(Boolean)
                        .join(', ')}
                      onClick={() => onOpen(row, cell.index)}
                    >
                      {textOf(cell.value, metric, currency)}
                    </button>
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const openText = ({ open }: Cell) => (open > 0 ? counted(open, '{n} may still get there', '{n} may still get there') : undefined)

/** The button of a cell, or the last one before it in its row where nobody had the time to get there. */
function nearest(body: HTMLElement, [row, column]: readonly [number, number]) {
  for (let at = column; at >= 0; at--) {
    const button = body.querySelector<HTMLButtonElement>(`[data-at="${row}:${at}"]`)
    if (button) return { button, at: [row, at] as const }
  }
}
