import { useEffect, useState } from 'react'
import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { t } from '../../parts/t.ts'
import { Size } from './people.tsx'

/** Counts when asked: a count may look at everybody. */
export function SizeCell({ of: segment, isAsked }: { of: Segment; isAsked: boolean }) {
  const [own, setOwn] = useState(false)
  const wanted = own || isAsked
  const body = sizeBody(segment)
  const question = JSON.stringify(body)
  const [answered, setAnswered] = useState<string>()
  // Once: a page of counts that are asked for again whenever somebody comes back to the window keeps the environment busy.
  const { data, error, isFetching, isPlaceholderData, refetch } = useRead(
    'v4PreviewSegment',
    { body },
    { when: wanted && answered !== question },
  )
  const isAnswered = data !== undefined && !isPlaceholderData && !isFetching
  useEffect(() => {
    if (isAnswered) setAnswered(question)
  }, [isAnswered, question])
  if (data && !isPlaceholderData) return <Size of={data} />
  if (error && !isFetching)
    return (
      <button type="button" className="chip small" title={error.message} onClick={() => void refetch()}>
        {t('It failed: again')}
      </button>
    )
  if (wanted) return <span className="faint">{t('counting…')}</span>
  return (
    <button type="button" className="chip small" aria-label={t('Count {name}', { name: segment.name })} onClick={() => setOwn(true)}>
      {t('Count')}
    </button>
  )
}

export const sizeBody = ({ id, conditions, listed }: Segment) => ({
  conditions: [...conditions],
  ...(listed !== null && { listed_in: id }),
})
