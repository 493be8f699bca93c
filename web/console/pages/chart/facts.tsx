import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { AnalyticsExplanation, AnalyticsFact } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import type { ApiError } from '../../data/api-error.ts'
import type { Input } from '../../data/operations.ts'
import { usePages } from '../../data/read.ts'
import { Choice } from '../../parts/choice.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Dotted } from '../../parts/dotted.tsx'
import { Empty } from '../../parts/empty.tsx'
import { figure } from '../../parts/format.ts'
import type { Side } from '../../parts/make-segment.tsx'
import { SegmentOf } from '../../parts/segment-of.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

export type Explained = UseQueryResult<AnalyticsExplanation, ApiError>
export type PointInput = Input<'v4ExplainAnalyticsChart'>

/** The people and what they did, latest first. Their contributions are the number. */
export function Facts({ input, explained, title }: { input: PointInput; explained: Explained; zone: string; title: string }) {
  const [search, set] = useAddress()
  const query = { ...input.query, limit: 50, ...(search.late && { recorded_from: Number(search.late) }) }
  const read = usePages('v4ListAnalyticsChartFacts', { ...input, query }, { topics: ['facts'] })
  const explanation = explained.data
  return (
    <>
      <p className="facts-sum">
        {explanation ? <Sum explanation={explanation} /> : ' '}
        {search.late && (
          <button type="button" className="chip small on" onClick={() => set({ late: undefined })}>
            {t('Only what was recorded late; show all')}
          </button>
        )}
      </p>
      {explanation && explanation.facts.length > 0 && <PeopleOf input={{ ...input, query }} title={title} explanation={explanation} />}
      <DataState
        of={read}
        shape="table"
        rows={8}
        isEmpty={rows => rows.length === 0}
        empty={
          <Empty
            title={t('No facts')}
            why={t('Nothing happened here that this chart counts, so the number is what no facts make.')}
            curl={curlOf('v4ListAnalyticsChartFacts', { ...input, query })}
          />
        }
      >
        {rows => (
          <ul className="facts" aria-label={t('Facts')}>
            {(rows as AnalyticsFact[]).map(fact => (
              <Fact key={fact.id} fact={fact} explanation={explanation} />
            ))}
          </ul>
        )}
      </DataState>
      {read.hasNextPage && (
        <button type="button" className="chip more" onClick={read.more} disabled={read.isFetchingNextPage}>
          {t('More facts')}
        </button>
      )}
    </>
  )
}

/** Of a ratio, the people of its numerator and those of its denominator are two segments. */
function PeopleOf({
  input,
  title,
  explanation: { denominator },
}: {
  input: Input<'v4ListAnalyticsChartFacts'>
  title: string
  explanation: AnalyticsExplanation
}) {
  const [side, setSide] = useState<Side>('numerator')
  const from = { from: 'v4ListAnalyticsChartFacts' as const, input }
  if (denominator === null) return <SegmentOf {...from} name={title} />
  return (
    <div className="facts-people">
      <Choice
        name={t('Whose')}
        value={side}
        options={[
          ['numerator', 'Numerator'],
          ['denominator', 'Denominator'],
        ]}
        onChange={setSide}
      />
      <SegmentOf key={side} {...from} name={title} side={side} />
    </div>
  )
}

/** How many facts, and that they are the number: of a ratio, its numerator and denominator. */
function Sum({ explanation }: { explanation: AnalyticsExplanation }) {
  const { facts, value, numerator, denominator, measure, currency } = explanation
  const many = facts.reduce((sum, kind) => sum + kind.facts, 0)
  const number = <b>{figure(value, measure, currency)}</b>
  if (denominator === null)
    return (
      <>
        {counted(many, '{n} fact', '{n} facts')} · {t('together')} {number}
      </>
    )
  return (
    <>
      {counted(many, '{n} fact', '{n} facts')} · {plainNumber(numerator)} {t('of')} {plainNumber(denominator)} = {number}
    </>
  )
}

/** A decimal text as a number that is read. */
export const plainNumber = (decimal: string): string => figure(Number(decimal))

/** Nothing before the measure and the currency are known: a number would change its face. */
export function contributionText(
  fact: Pick<AnalyticsFact, 'role' | 'contribution'>,
  explanation: AnalyticsExplanation | undefined,
): string {
  if (explanation === undefined) return ''
  const value = Number(fact.contribution)
  const isMoney = explanation.measure === 'usd' && fact.role !== 'denominator'
  return isMoney ? figure(value, 'usd', explanation.currency) : figure(value)
}

const ROLES = { value: '', numerator: 'counts in the numerator', denominator: 'counts in the denominator' } as const

export function Fact({ fact, explanation }: { fact: AnalyticsFact; explanation: AnalyticsExplanation | undefined }) {
  const what = <Dotted of={[plain(fact.kind), fact.cause && plain(fact.cause).toLowerCase(), fact.product_id]} />
  const isForeign = fact.amount !== null && fact.currency !== null && fact.currency !== explanation?.currency
  return (
    <li className="fact">
      <div className="fact-what">
        {fact.customer_uid ? (
          <To to={`/customers/${encodeURIComponent(fact.customer_uid)}`} className="fact-title">
            {what}
          </To>
        ) : (
          <span className="fact-title">{what}</span>
        )}
        <span className="fact-more">
          {fact.customer_uid && <Id>{fact.customer_uid}</Id>}
          {[fact.target_platform, fact.country, t(ROLES[fact.role])].filter(Boolean).map(text => (
            <span key={text}>{text}</span>
          ))}
          <Time at={fact.happened_at} />
        </span>
      </div>
      <div className="fact-figure">
        <data value={fact.contribution} title={fact.contribution}>
          {contributionText(fact, explanation)}
        </data>
        {isForeign && <span className="soft">{`${fact.amount} ${fact.currency}`}</span>}
      </div>
    </li>
  )
}
