import './difference.css'
import type { ReactNode } from 'react'
import { differenceOf, type Line } from './difference-lines.ts'
import { counted, t } from './t.ts'

const SIGNS = { same: ' ', before: '−', after: '+' } as const

/** So many lines are drawn: a layout may have a hundred thousand of them. */
const MOST_LINES = 1_500

/** Two sides of a value, line by line. `none`: what is said when no line differs. */
export function Difference({ before, after, none }: { before: unknown; after: unknown; none: string }) {
  const lines = differenceOf(before, after)
  if (!lines.some(({ kind }) => kind === 'before' || kind === 'after')) return <p className="soft">{none}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="difference" aria-label={t('Difference')} tabIndex={0}>
      {lines.slice(0, MOST_LINES).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text that never changes
        <LineOf key={at} line={line} />
      ))}
      {lines.length > MOST_LINES && (
        <span className="difference-gap">
          {counted(lines.length - MOST_LINES, 'and {n} more line, which is not shown', 'and {n} more lines, which are not shown')}
        </span>
      )}
    </section>
  )
}

function LineOf({ line }: { line: Line }): ReactNode {
  if (line.kind === 'gap')
    return <span className="difference-gap">{counted(line.lines, '{n} line is the same', '{n} lines are the same')}</span>
  const text = (
    <>
      <i aria-hidden="true">{SIGNS[line.kind]}</i>
      <span>{line.text}</span>
    </>
  )
  if (line.kind === 'before') return <del>{text}</del>
  return line.kind === 'after' ? <ins>{text}</ins> : <span className="difference-same">{text}</span>
}
