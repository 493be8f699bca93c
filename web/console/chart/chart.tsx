import './chart.css'
import { type KeyboardEvent, type PointerEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { figure } from '../parts/format.ts'
import { t } from '../parts/t.ts'
import { Card, rowsOf, titleOf } from './card.tsx'
import { Cursor } from './cursor.tsx'
import { Drawing } from './drawing.tsx'
import { type Layout, layoutOf } from './layout.ts'
import type { Picture } from './picture.ts'

type Props = {
  /** Keep it the same object while nothing in it changes: it is drawn again for a new one. */
  picture: Picture
  /** A sentence: what is shown, its range, its total, and what is incomplete. */
  label: string
  /** A click or Enter on a bucket. */
  onPoint?: (bucket: number) => void
  height?: 'normal' | 'low'
}

/**
 * A chart on a page: one stop of the Tab key. Arrows go through buckets and series, Home, End and Page keys further, Enter shows what is
 * behind a bucket, Esc leaves it.
 */
export function Chart({ picture, label, onPoint, height = 'normal' }: Props) {
  const canvas = useRef<HTMLDivElement>(null)
  const size = useSize(canvas)
  const id = `p${useId().replaceAll(/\W/g, '')}`
  const layout = useMemo(() => (size ? layoutOf(picture, size.width, size.height) : undefined), [picture, size])
  const [focus, setFocus] = useState<{ at: number; series?: number }>()
  const at = focus && focus.at < picture.starts.length ? focus.at : undefined
  const bucketOf = (event: PointerEvent) => layout?.bucketAt(event.clientX - canvas.current!.getBoundingClientRect().left)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && at !== undefined) event.preventDefault()
    if (event.key === 'Escape') return setFocus(undefined)
    if (event.key === 'Enter' && at !== undefined) return onPoint?.(at)
    const next = moved(event.key, at, focus?.series, picture.starts.length, layout?.shown.length ?? 0)
    if (next === undefined) return
    event.preventDefault()
    setFocus(next)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: no element means a chart
    <div
      className={`chart ${height}`}
      role="group"
      aria-roledescription={t('chart')}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is
      tabIndex={0}
      onKeyDown={onKeyDown}
      onBlur={() => setFocus(undefined)}
      onPointerMove={event => {
        const bucket = bucketOf(event)
        if (bucket !== at) setFocus(bucket === undefined ? undefined : { at: bucket })
      }}
      onPointerLeave={() => setFocus(undefined)}
      onClick={event => {
        const bucket = bucketOf(event as unknown as PointerEvent)
        if (bucket !== undefined) onPoint?.(bucket)
      }}
    >
      <div className="chart-canvas" ref={canvas}>
        {layout && <Drawing picture={picture} layout={layout} id={id} />}
        {layout && at !== undefined && <Cursor layout={layout} at={at} series={focus?.series} />}
      </div>
      <span className="unseen" aria-live="polite">
        {layout && at !== undefined && said(picture, layout, at, focus?.series)}
      </span>
      {layout && at !== undefined && (
        <Card
          picture={picture}
          layout={layout}
          at={at}
          series={focus?.series}
          hint={onPoint ? t('Enter or click: the facts behind it') : undefined}
        />
      )}
    </div>
  )
}

/** Where a key leads from a bucket and a series; undefined for other keys. Without a bucket in focus, it comes in from the latest. */
export function moved(key: string, at: number | undefined, series: number | undefined, buckets: number, lines: number) {
  if (buckets === 0) return undefined
  const from = at ?? buckets
  const ways: Record<string, number> = {
    ArrowLeft: from - 1,
    ArrowRight: from + 1,
    Home: 0,
    End: buckets - 1,
    PageUp: from - 10,
    PageDown: from + 10,
  }
  const to = ways[key]
  if (to !== undefined) return { at: Math.max(0, Math.min(buckets - 1, to)), ...(series !== undefined && { series }) }
  if ((key !== 'ArrowUp' && key !== 'ArrowDown') || lines === 0) return undefined
  const next = series === undefined ? (key === 'ArrowDown' ? 0 : lines - 1) : (series + (key === 'ArrowDown' ? 1 : -1) + lines) % lines
  return { at: at ?? buckets - 1, series: next }
}

/** What a reader hears of the bucket in focus: the series chosen with ↑ ↓, or all. */
function said(picture: Picture, layout: Layout, at: number, series: number | undefined): string {
  const rows = rowsOf(layout, at).filter(({ place }) => series === undefined || place === series)
  const values = rows
    .slice(0, 5)
    .map(({ label, value }) => `${label} ${value === null ? t('no value') : figure(value, picture.measure, picture.currency)}`)
  return `${titleOf(picture, layout, at)}: ${values.join(', ')}`
}

function useSize(of: React.RefObject<HTMLDivElement | null>) {
  const [size, setSize] = useState<{ width: number; height: number }>()
  useLayoutEffect(() => {
    const element = of.current!
    const measure = () =>
      setSize(before => {
        const { clientWidth: width, clientHeight: height } = element
        return before?.width === width && before.height === height ? before : { width, height }
      })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [of])
  return size
}
