import type { ReactNode } from 'react'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Icon } from '../../parts/icon.tsx'
import { runReason } from '../../parts/run-words.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { describe } from './describe.tsx'
import { Attempt } from './refused.tsx'
import { type EntryOf, timelineInput } from './timeline-rows.ts'

const LOOKED_AT = 100

const NOT_DONE = new Set(['skipped', 'failed', 'cancelled'])
const NOT_SENT = new Set(['failed', 'held', 'retrying'])

/** Why something that was expected did not come: automations that did not start or failed, messages that did not arrive, purchases refused. */
export function Why({ id, onClose }: { id: string; onClose: () => void }) {
  const runs = useRead('v4ListCustomerTimeline', timelineInput(id, ['automation_run'], LOOKED_AT), { topics: ['runs'] })
  const deliveries = useRead('v4ListCustomerTimeline', timelineInput(id, ['delivery'], LOOKED_AT), { topics: ['deliveries'] })
  const attempts = useRead('v4ListUserPurchaseAttempts', { path: { user_id: id }, query: { limit: LOOKED_AT } })
  return (
    <Drawer title={t('Why did nothing come?')} onClose={onClose}>
      <div className="drawer-actions">
        <ShowTheCall name="v4ListCustomerTimeline" input={timelineInput(id, ['automation_run'], LOOKED_AT)} />
      </div>
      <h3 className="why-title">{t('Automations')}</h3>
      <DataState of={runs} rows={4}>
        {({ data, has_more }) => (
          <Found
            none={t('All of its runs went on: none was skipped, cancelled or has failed.')}
            empty={t(
              'No event of this customer was the beginning of an automation. Events from before it was made, and those that were imported, start none.',
            )}
            looked={data.length}
            cut={has_more}
          >
            {alike(data.filter(entry => entry.kind === 'automation_run').filter(({ status }) => NOT_DONE.has(status))).map(
              ([latest, times]) => (
                <Line
                  key={latest.id}
                  at={latest.at}
                  opens={`automation_run.${latest.id}`}
                  title={latest.automation_name ?? latest.automation_id}
                >
                  {runText(latest)}
                  {times > 1 && <> · {counted(times, '{n} time', '{n} times')}</>}
                </Line>
              ),
            )}
          </Found>
        )}
      </DataState>
      <h3 className="why-title">{t('Deliveries')}</h3>
      <DataState of={deliveries} rows={3}>
        {({ data, has_more }) => (
          <Found
            none={t('Each has arrived, or is on its way.')}
            empty={t('Nothing was to be delivered.')}
            looked={data.length}
            cut={has_more}
          >
            {data
              .filter((entry): entry is EntryOf<'delivery'> => entry.kind === 'delivery' && NOT_SENT.has(entry.status))
              .map(entry => (
                <Line key={entry.id} at={entry.at} opens={`delivery.${entry.id}`} title={describe(id, { entry }).title}>
                  {describe(id, { entry }).more}
                </Line>
              ))}
          </Found>
        )}
      </DataState>
      <h3 className="why-title">{t('Purchases')}</h3>
      <DataState
        of={attempts}
        rows={2}
        isEmpty={({ data }) => data.length === 0}
        empty={<p className="soft">{t('No claim of a purchase was refused in 90 days.')}</p>}
      >
        {({ data }) => (
          <ul className="line live why-list">
            {data.map(attempt => (
              <Attempt key={attempt.id} attempt={attempt} />
            ))}
          </ul>
        )}
      </DataState>
    </Drawer>
  )
}

/** The latest of the runs that did not go on for the same reason, and how many they are. */
const alike = (runs: readonly EntryOf<'automation_run'>[]) =>
  [
    ...Map.groupBy(runs, ({ automation_id, status, reason, event_name }) => [automation_id, status, reason, event_name].join()).values(),
  ].map(own => [own[0]!, own.length] as const)

function runText({ status, reason, event_name }: EntryOf<'automation_run'>): string {
  const event = plain(event_name).toLowerCase()
  const why = reason ? runReason(reason) : undefined
  if (status === 'skipped')
    return why ? t('did not start after {event}: {why}', { event, why }) : t('did not start after {event}', { event })
  const end = status === 'failed' ? t('failed') : t('was cancelled')
  return why ? `${end}: ${why}` : end
}

/** What was found, or that nothing was; and among how many was looked, where there are more. */
function Found({
  none,
  empty,
  looked,
  cut,
  children,
}: {
  none: string
  empty: string
  looked: number
  cut: boolean
  children: ReactNode[]
}) {
  return (
    <>
      {children.length > 0 ? <ul className="line live why-list">{children}</ul> : <p className="soft">{looked === 0 ? empty : none}</p>}
      {cut && <p className="faint">{t('Among the latest {n}; the timeline has all.', { n: looked })}</p>}
    </>
  )
}

function Line({ at, opens, title, children }: { at: string; opens: string; title: string; children: ReactNode }) {
  const [, set] = useAddress()
  return (
    <li>
      <span className="node warn">
        <Icon name="warn" size={13} />
      </span>
      <div>
        <button type="button" className="row-link line-title" onClick={() => set({ at: opens }, { push: true })}>
          {title}
        </button>
        <div className="line-more">{children}</div>
      </div>
      <div className="line-when">
        <Time at={at} relative />
      </div>
    </li>
  )
}
