import type { AnalyticsExplanation, AnalyticsRate } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useCopy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { bucket, figure } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { Unconverted } from '../../parts/unconverted.tsx'
import { contributionText, type Explained, Fact, type PointInput, plainNumber } from './facts.tsx'

/** How a number is made: formula, by kind of fact, rates of exchange, what changed it later, SQL. */
export const Computed = ({ read, input }: { read: Explained; input: PointInput }) => (
  <DataState of={read} rows={8}>
    {explanation => (
      <div className="computed">
        <p>{explanation.formula.words}</p>
        {explanation.formula.symbols.map(symbols => (
          <pre key={symbols} className="formula">
            {symbols}
          </pre>
        ))}
        <Kinds explanation={explanation} />
        <Unconverted money={explanation.unconverted} />
        <Rates explanation={explanation} />
        <Later explanation={explanation} start={input.query?.start_time} />
        <Sql sql={explanation.sql} />
        <p className="soft">
          {t('Everything recorded before')} <Time at={explanation.as_of} /> {t('counts.')}
        </p>
      </div>
    )}
  </DataState>
)

function Kinds({ explanation }: { explanation: AnalyticsExplanation }) {
  const { facts, value, numerator, denominator, measure, currency } = explanation
  return (
    <table className="table small">
      <thead>
        <tr>
          <th scope="col">{t('By kind')}</th>
          <th scope="col" className="num">
            {t('Facts')}
          </th>
          <th scope="col" className="num">
            {t('Sum')}
          </th>
        </tr>
      </thead>
      <tbody>
        {facts.map(kind => (
          <tr key={kind.kind + kind.role}>
            <td>
              {plain(kind.kind)}
              {kind.role !== 'value' && <span className="soft"> · {t(kind.role)}</span>}
            </td>
            <td className="num">{figure(kind.facts)}</td>
            <td className="num" title={kind.contribution}>
              {contributionText(kind, explanation)}
            </td>
          </tr>
        ))}
        <tr className="total">
          <td>{denominator === null ? t('The number') : `${plainNumber(numerator)} ÷ ${plainNumber(denominator)}`}</td>
          <td />
          <td className="num">{figure(value, measure, currency)}</td>
        </tr>
      </tbody>
    </table>
  )
}

function Rates({ explanation: { currencies, currency } }: { explanation: AnalyticsExplanation }) {
  if (!currencies.some(one => one.currency !== currency)) return null
  return (
    <section>
      <h3>{t('Rates of exchange')}</h3>
      <table className="table small">
        <tbody>
          {currencies.map(one => (
            <tr key={one.currency ?? '?'}>
              <td>{`${figure(one.amount)} ${one.currency ?? t('unknown currency')}`}</td>
              <td className="num soft">{ratesOf(one.first_rate, one.last_rate)}</td>
              <td className="num">{figure(Number(one.converted), 'usd', currency)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function ratesOf(first: AnalyticsRate, last: AnalyticsRate): string {
  const rate = (one: AnalyticsRate) => (one.rate === null ? t('no rate') : `× ${Number(one.rate).toFixed(4)}`)
  return first.rate === last.rate ? rate(first) : `${rate(first)} – ${rate(last).replace('× ', '')}`
}

const DAY = 86_400

/** What changed the number after its time was over. */
function Later({ explanation, start }: { explanation: AnalyticsExplanation; start: number | undefined }) {
  const [, set] = useAddress()
  const { changed_since: changes, late_facts: late, measure, currency } = explanation
  if (changes.length === 0) return null
  return (
    <section>
      <h3>{t('Changed later than a day after its end')}</h3>
      <table className="table small">
        <tbody>
          {changes.map(({ day, cause, facts, contribution }) => (
            <tr key={day + cause}>
              <td className="nowrap">{bucket(Date.parse(day) / 1_000, 'day', 'UTC', true)}</td>
              <td>
                {plain(cause)}
                {facts !== null && <span className="soft"> · {counted(facts, '{n} fact', '{n} facts')}</span>}
              </td>
              <td className="num">
                {contribution === null
                  ? t('not kept')
                  : measure === 'usd'
                    ? figure(Number(contribution), 'usd', currency)
                    : plainNumber(contribution)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {late.length > 0 && (
        <ul className="facts" aria-label={t('Recorded late')}>
          {late.map(fact => (
            <Fact key={fact.id} fact={fact} explanation={explanation} />
          ))}
        </ul>
      )}
      {late.length > 0 && start !== undefined && (
        <button type="button" className="chip more" onClick={() => set({ tab: undefined, late: String(explanation.parameters.to + DAY) })}>
          {t('All that was recorded late')}
        </button>
      )}
    </section>
  )
}

function Sql({ sql }: { sql: string }) {
  const [copied, copy] = useCopy()
  return (
    <details className="sql">
      <summary>{t('SQL that answers the same number')}</summary>
      <button type="button" className="chip small" onClick={() => copy(sql)}>
        <Icon name={copied ? 'check' : 'copy'} size={12} />
        {copied ? t('Copied') : t('Copy')}
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <pre className="formula" tabIndex={0}>
        {sql}
      </pre>
    </details>
  )
}
