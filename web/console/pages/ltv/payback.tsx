import { TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { AnalyticsLtv } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { t } from '../../parts/t.ts'
import type { Question } from './question.ts'

const SETTLED_MS = 400

/** What one user cost, and when the users have paid it back on average. */
export function Payback({ question: { cost }, answer }: { question: Question; answer: AnalyticsLtv | undefined }) {
  const [, set] = useAddress()
  const [typed, setTyped] = useState(cost === undefined ? '' : String(cost))
  useEffect(() => {
    const timer = setTimeout(() => {
      const next = Number(typed) > 0 ? String(typed) : undefined
      if (next !== (cost === undefined ? undefined : String(cost))) set({ cost: next })
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed, cost, set])
  return (
    <section className="card ltv-figure" aria-label={t('Payback')}>
      <label className="ltv-name" htmlFor="ltv-cost">
        {t('What it costs to win one user')}
      </label>
      <TextInput
        id="ltv-cost"
        size="xs"
        inputMode="decimal"
        error={typed !== '' && !(Number(typed) > 0) ? t('An amount such as 12.50') : undefined}
        placeholder="0.00"
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value.replace(',', '.'))}
        rightSection={<span className="ltv-currency">{answer?.currency ?? 'USD'}</span>}
        rightSectionWidth={46}
      />
      <span className="ltv-more" role="status">
        {answer && verdict(answer, cost)}
      </span>
    </section>
  )
}

function verdict({ series }: AnalyticsLtv, cost: number | undefined): string {
  if (cost === undefined) return t('Type it to see when it is paid back')
  const found = series.find(({ arpu }) => arpu >= cost)
  const complete = series.findLast(({ is_complete }) => is_complete)
  if (!found) return t('Not paid back until {label}', { label: series.at(-1)?.label ?? '' })
  if (found.is_complete) return t('Paid back on {label}', { label: found.label })
  const until = complete
    ? t('everybody has had the time up to {label}', { label: complete.label })
    : t('somebody has not yet had the time for the first day')
  return t('Paid back on {label} so far: {until}', { label: found.label, until })
}
