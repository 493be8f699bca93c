import type { Purchase } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { useNow } from '../../data/use-now.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { t } from '../../parts/t.ts'
import { Bar } from './bar.tsx'
import { PeriodList } from './period-list.tsx'
import { PERIODS, standing } from './period-texts.ts'
import { storyOf } from './periods.ts'

const MOST = 100

/** What was bought, as a bar over time, and as a list. Without a purchase there is nothing to draw. */
export function Subscription({ id }: { id: string }) {
  const read = useRead('v4ListUserPurchases', { path: { user_id: id }, query: { limit: MOST } }, { topics: ['events'] })
  return (
    <Card title={t('Purchases')} right={<Standing purchases={read.data?.data} />} className="subscription">
      <DataState
        of={read}
        rows={3}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <p className="soft">
            {t('Nothing was bought yet. Periods of a subscription will be drawn here, from the first day to what is paid ahead.')}
          </p>
        }
      >
        {({ data, has_more }) => <Drawn id={id} purchases={data} cut={has_more} />}
      </DataState>
    </Card>
  )
}

function Standing({ purchases }: { purchases: readonly Purchase[] | undefined }) {
  const { zone } = usePreferences()
  const now = useNow()
  return purchases === undefined || now === undefined ? null : <span>{standing(purchases, now, zone)}</span>
}

function Drawn({ id, purchases, cut }: { id: string; purchases: readonly Purchase[]; cut: boolean }) {
  const now = useNow()
  const story = now === undefined ? undefined : storyOf(purchases, now)
  if (story === undefined || now === undefined) return null
  const kinds = Object.keys(PERIODS).filter(kind => story.periods.some(period => period.kind === kind))
  return (
    <>
      <Bar id={id} story={story} now={now} />
      <div className="bar-foot">
        <ul className="bar-legend">
          {kinds.map(kind => (
            <li key={kind}>
              <i className={`period ${kind}`} aria-hidden="true" />
              {t(PERIODS[kind as keyof typeof PERIODS].says)}
            </li>
          ))}
          {story.periods.some(({ end }) => end !== undefined && end > now) && (
            <li>
              <i className="period ahead" aria-hidden="true" />
              {t('ahead')}
            </li>
          )}
          {story.gaps.length > 0 && (
            <li>
              <i className="bar-gap" aria-hidden="true" />
              {t('nothing')}
            </li>
          )}
          {story.marks.length > 0 && (
            <li>
              <i className="bar-mark" aria-hidden="true" />
              {t('one-time purchase')}
            </li>
          )}
        </ul>
        {cut && <span className="faint">{t('The last {n} purchases; earlier ones are in the timeline.', { n: MOST })}</span>}
      </div>
      <PeriodList id={id} story={story} now={now} />
    </>
  )
}
