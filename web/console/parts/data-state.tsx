import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Fault } from './fault.tsx'
import { t } from './t.ts'

/** A query, or pages of a list. */
type Read<Data> = Pick<UseQueryResult<unknown>, 'error' | 'isError' | 'isPlaceholderData'> & {
  data: Data | undefined
  refetch: () => unknown
}

/**
 * What a read shows: bars in the shape of what comes while it is loaded for the first time, the failure in place, what is empty, or the
 * content. Content stays while other content is loaded, dimmed after 150 ms; a failure of that stands above what was read before.
 */
export function DataState<Data>({
  of,
  shape = 'lines',
  rows = 6,
  isEmpty,
  empty,
  children,
}: {
  of: Read<Data>
  shape?: 'lines' | 'table' | 'chart'
  rows?: number
  isEmpty?: (data: Data) => boolean
  empty?: ReactNode
  children: (data: Data) => ReactNode
}) {
  const { data } = of
  if (data === undefined) {
    if (of.isError) return <Fault error={of.error} retry={of.refetch} />
    return <Bars shape={shape} rows={rows} />
  }
  return (
    <>
      {of.isError && <Fault error={of.error} retry={of.refetch} />}
      {empty !== undefined && isEmpty?.(data) ? (
        empty
      ) : (
        <div className={of.isPlaceholderData ? 'stale' : undefined} aria-busy={of.isPlaceholderData || undefined}>
          {children(data)}
        </div>
      )}
    </>
  )
}

/** The shape of what comes, in its size, so that nothing jumps. */
export const Bars = ({ shape = 'lines', rows = 6 }: { shape?: 'lines' | 'table' | 'chart'; rows?: number }) => (
  <div className={`bars ${shape}`} role="status" aria-label={t('Loading')}>
    {shape === 'chart' ? (
      <span className="bar" />
    ) : (
      Array.from({ length: rows }, (_, row) => row).map(row => <span key={row} className={`bar w${row % 3}`} />)
    )}
  </div>
)
