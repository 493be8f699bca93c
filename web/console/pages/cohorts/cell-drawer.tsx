import type { AnalyticsCohorts } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePages } from '../../data/read.ts'
import { useSameEnd } from '../../data/same-end.ts'
import { usePreferences } from '../../data/session.ts'
import { Pairs } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { bucket, figure } from '../../parts/format.ts'
import { SegmentOf } from '../../parts/segment-of.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import type { Row } from './cells.ts'
import { type Question, ZONE } from './question.ts'

type Props = { at: string; rows: readonly Row[]; question: Question; currency: string; answer: AnalyticsCohorts }

/** The figures of a cell, and the people in it. `at`: the key of the row and the index of the period, 0 for the users of the row. */
export default function CellDrawer({ at, rows, question, currency, answer }: Props) {
  const [search, set] = useAddress()
  const cut = at.lastIndexOf(':')
  const row = rows.find(({ key }) => key === at.slice(0, cut))
  const index = Number(at.slice(cut + 1))
  const close = () => set({ at: undefined, people: undefined })
  if (!row)
    return (
      <Drawer title={t('Cohort')} onClose={close}>
        <Empty icon="grid" title={t('This cohort is not in the range')} why={t('Another range or filter is chosen than in the link.')} />
      </Drawer>
    )
  const period = periodOf(answer, row, index)
  const kind = index === 0 ? 'users' : search.people === 'subscriptions' ? 'subscriptions' : 'payers'
  const money = (value: number) => figure(value, 'usd', currency)
  return (
    <Drawer title={period ? `${row.label} · ${period.label}` : row.label} onClose={close}>
      {period && (
        <>
          <Pairs
            rows={[
              [t('Users of the row'), figure(row.users)],
              [t('Subscriptions that got there'), figure(period.subscriptions)],
              ...('reachable' in period && typeof period.reachable === 'number'
                ? [[t('Had the time to get there'), figure(period.reachable)] as const]
                : []),
              [t('May still get there'), figure(period.open)],
              [t('Paying users'), figure(period.payers)],
              [t('Revenue of the period'), money(period.revenue)],
              [t('Revenue up to here, per user'), money(period.arpu)],
              [t('… per paying user'), money(period.arppu)],
              [t('… per subscription'), money(period.arpas)],
              [t('Complete'), period.is_complete ? t('yes') : t('not yet: time alone can still change it')],
            ]}
          />
          <div className="cell-people">
            <Choice
              name={t('People')}
              value={kind === 'subscriptions' ? 'subscriptions' : 'payers'}
              options={[
                ['payers', 'Paying users'],
                ['subscriptions', 'Subscriptions'],
              ]}
              onChange={people => set({ people: people === 'subscriptions' ? people : undefined })}
            />
          </div>
        </>
      )}
      <People
        row={row}
        index={index}
        kind={kind}
        question={question}
        currency={currency}
        expected={period ? period[kind as 'payers'] : row.users}
        title={period ? `${row.label} · ${period.label}` : row.label}
      />
    </Drawer>
  )
}

function periodOf(answer: AnalyticsCohorts, row: Row, index: number) {
  const shown = row.segment === undefined ? answer : answer.segments?.find(({ code }) => code === row.segment)
  const periods = row.from === undefined ? shown?.total?.periods : shown?.cohorts.find(({ from }) => from === row.from)?.periods
  return (
    periods as
      | readonly (AnalyticsCohorts['cohorts'][number]['periods'][number] | NonNullable<AnalyticsCohorts['total']>['periods'][number])[]
      | undefined
  )?.find(period => period.index === index)
}

function People({
  row,
  index,
  kind,
  question,
  currency,
  expected,
  title,
}: {
  row: Row
  index: number
  kind: 'users' | 'payers' | 'subscriptions'
  question: Question
  currency: string
  expected: number
  title: string
}) {
  const { zone } = usePreferences()
  const query = useSameEnd(question.query, 'cohort_to', question.range)
  const input = {
    query: {
      ...query,
      metric: kind,
      limit: 50,
      ...(row.from !== undefined && { cohort: row.from }),
      ...(index > 0 && { period: index }),
      ...(row.segment !== undefined && { segment_code: row.segment }),
    },
  }
  const read = usePages('v4ListAnalyticsCohortPeople', input, { topics: ['facts'] })
  return (
    <>
      <p className="soft cell-count">
        {kind === 'subscriptions'
          ? counted(expected, '{n} subscription', '{n} subscriptions')
          : counted(expected, '{n} person', '{n} people')}
        {row.from !== undefined && ` · ${t('began from {day}, UTC', { day: bucket(row.from, 'day', ZONE, true) })}`}
      </p>
      {expected > 0 && <SegmentOf key={kind} from="v4ListAnalyticsCohortPeople" input={input} name={t('Cohort {title}', { title })} />}
      <DataState
        of={read}
        shape="table"
        rows={6}
        isEmpty={people => people.length === 0}
        empty={
          <Empty
            icon="people"
            title={t('Nobody')}
            why={t('Nobody of this row is in this period.')}
            curl={curlOf('v4ListAnalyticsCohortPeople', input)}
          />
        }
      >
        {people => (
          <ul className="facts" aria-label={t('People')}>
            {people.map(person => (
              <li key={person.id} className="person">
                <div>
                  {person.customer_uid ? (
                    <To to={`/customers/${encodeURIComponent(person.customer_uid)}`} className="person-link">
                      <Id>{person.customer_uid}</Id>
                    </To>
                  ) : (
                    <span className="soft">{t('erased a moment ago')}</span>
                  )}
                  <span className="person-more">
                    {[person.product_id, person.target_platform].filter(Boolean).map(text => (
                      <span key={text}>{text}</span>
                    ))}
                    <span>
                      {t('began')} <Time at={person.anchor_at} />
                    </span>
                  </span>
                </div>
                {person.revenue !== null && (
                  <div className="person-figure">
                    {figure(person.revenue, 'usd', currency)}
                    {person.payments !== null && (
                      <span
                        className="soft"
                        title={person.last_paid_at ? bucket(Date.parse(person.last_paid_at) / 1000, 'day', zone, true) : undefined}
                      >
                        {counted(person.payments, '{n} payment', '{n} payments')}
                      </span>
                    )}
                  </div>
                )}
              </li>
            ))}
          </ul>
        )}
      </DataState>
      {read.hasNextPage && (
        <button type="button" className="chip more" onClick={read.more} disabled={read.isFetchingNextPage}>
          {t('More people')}
        </button>
      )}
    </>
  )
}
