import { useRead } from '../../data/read.ts'
import { shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { JsonText } from '../../parts/json-text.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { Changed } from './changed.tsx'
import { describe } from './describe.tsx'
import { RunSteps } from './run-steps.tsx'
import { KINDS, type Kind, timelineInput } from './timeline-rows.ts'

const LOOKED_AT = 100

/** The details of an entry of the timeline. `at` is its kind and id, as in `event.evt_1`: what the API has an operation for is read by it. */
export function EntryDrawer({ id, at, onClose }: { id: string; at: string; onClose: () => void }) {
  const dot = at.indexOf('.')
  const [kind, key] = [at.slice(0, dot), at.slice(dot + 1)]
  return (
    <Drawer title={kind in KINDS ? plain(kind) : t('Details')} onClose={onClose}>
      <Details id={id} kind={kind as Kind} entry={key} />
    </Drawer>
  )
}

function Details({ id, kind, entry }: { id: string; kind: Kind; entry: string }) {
  switch (kind) {
    case 'event':
      return <OneEvent id={entry} />
    case 'purchase':
      return <OnePurchase user={id} id={entry} />
    case 'automation_run':
      return <OneRun id={entry} />
    default:
      return <FromTimeline id={id} kind={kind} entry={entry} />
  }
}

function OneEvent({ id }: { id: string }) {
  const input = { path: { event_id: id } }
  const read = useRead('v4GetEvent', input)
  return (
    <DataState of={read}>
      {event => (
        <>
          <div className="drawer-actions">
            <To to="/events" search={{ at: event.id }} className="link">
              {t('Among all events')}
            </To>
            <ShowTheCall name="v4GetEvent" input={input} />
          </div>
          <JsonText value={event} />
        </>
      )}
    </DataState>
  )
}

function OnePurchase({ user, id }: { user: string; id: string }) {
  const input = { path: { user_id: user, purchase_id: id } }
  const read = useRead('v4GetUserPurchase', input)
  return (
    <DataState of={read}>
      {purchase => (
        <>
          <div className="drawer-actions">
            {purchase.user_id !== user && (
              <To to={`/customers/${encodeURIComponent(purchase.user_id)}`} className="link">
                {t('shared by {user}', { user: shortId(purchase.user_id) })}
              </To>
            )}
            <ShowTheCall name="v4GetUserPurchase" input={input} />
          </div>
          <JsonText value={purchase} />
        </>
      )}
    </DataState>
  )
}

function OneRun({ id }: { id: string }) {
  const input = { path: { run_id: id } }
  const read = useRead('v4GetAutomationRun', input, { topics: ['runs'] })
  return (
    <DataState of={read}>
      {run => (
        <>
          <div className="drawer-actions">
            <To to={`/runs/${encodeURIComponent(run.id)}`} className="link">
              {t('The whole run')}
            </To>
            <ShowTheCall name="v4GetAutomationRun" input={input} />
          </div>
          <RunSteps run={run} />
          <JsonText value={run} />
        </>
      )}
    </DataState>
  )
}

/** Of these kinds no operation reads one; the timeline has all that is known. */
function FromTimeline({ id, kind, entry }: { id: string; kind: Kind; entry: string }) {
  const input = timelineInput(id, kind in KINDS ? [kind] : [], LOOKED_AT)
  const read = useRead('v4ListCustomerTimeline', input, { when: kind in KINDS })
  if (!(kind in KINDS)) return <Empty title={t('This link leads to nothing')} why={t('It names no entry of the timeline.')} />
  return (
    <DataState of={read}>
      {({ data }) => {
        const found = data.find(one => one.id === entry)
        if (!found)
          return (
            <Empty
              title={t('It is further back')}
              why={t('The latest {n} entries of this kind do not have it. The timeline goes on with “Show what was before”.', {
                n: LOOKED_AT,
              })}
            />
          )
        const { title, more } = describe(id, { entry: found })
        return (
          <>
            <div className="drawer-actions">
              {found.kind === 'delivery' && found.integration_id && (
                <To to={`/integrations/${found.integration_id}`} search={{ at: found.id }} className="link">
                  {t('Its attempts, and what was sent')}
                </To>
              )}
              {found.kind === 'experiment' && (
                <To to={`/experiments/${encodeURIComponent(found.id)}`} className="link">
                  {t('The experiment')}
                </To>
              )}
              <ShowTheCall name="v4ListCustomerTimeline" input={input} />
            </div>
            <p className="line-title">{title}</p>
            {more && <div className="line-more">{more}</div>}
            {found.kind === 'change' && <Changed entry={found} />}
            <JsonText value={found} />
          </>
        )
      }}
    </DataState>
  )
}
