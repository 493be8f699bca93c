import { useEffect, useState } from 'react'
import type { Input } from '../../data/operations.ts'
import { useRead } from '../../data/read.ts'
import { isFilled } from '../../parts/conditions/metrics.ts'

export type PreviewBody = Input<'v4PreviewSegment'>['body']

/** Somebody who types is asked about once it rests. */
const REST_MS = 400

/** The value once it has rested. The first one counts at once. */
function useRested<Value>(value: Value): { rested: Value; isResting: boolean } {
  const [rested, setRested] = useState(value)
  const text = JSON.stringify(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: by what it says
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return { rested, isResting: JSON.stringify(rested) !== text }
}

/** Size and people of what is being typed. While a value is missing, nothing is asked, and the last answer is old. */
export function usePreview(body: PreviewBody, when: boolean) {
  const isWhole = (body.conditions ?? []).every(isFilled)
  const { rested, isResting } = useRested(isWhole ? body : undefined)
  const read = useRead('v4PreviewSegment', { body: rested ?? {} }, { when: when && rested !== undefined })
  return { read, isOld: isResting || read.isPlaceholderData || !isWhole, isWhole }
}
