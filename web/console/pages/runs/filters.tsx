import { useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { shortId } from '../../parts/copy.tsx'
import { PersonFilter } from '../../parts/person-filter.tsx'
import { Pick } from '../../parts/pick.tsx'
import { runStatus } from '../../parts/run-words.ts'
import { SpanPick } from '../../parts/span-pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { Taken } from '../../parts/taken.tsx'
import { eventsOf, isFiltered, NO_FILTER, STATUSES, statusesOf, toggled } from './query.ts'

/** Which runs: how they stand, of which automation, whose, begun by which event, and when. */
export function Filters() {
  const [search, set] = useAddress()
  const statuses = statusesOf(search)
  const events = eventsOf(search)
  const only = (change: Record<string, string | undefined>) => set({ ...change, after: undefined })
  return (
    <>
      <fieldset className="filters runs-statuses">
        <legend className="unseen">{t('How they stand')}</legend>
        {STATUSES.map(status => (
          <button
            type="button"
            key={status}
            className={statuses.includes(status) ? 'chip on' : 'chip'}
            aria-pressed={statuses.includes(status)}
            onClick={() => only({ 'f.status': toggled(statuses, status) })}
          >
            {runStatus(status)}
          </button>
        ))}
      </fieldset>
      <div className="filters">
        <PersonFilter name={t('Only runs of a person')} onFind={id => only({ 'f.user_id': id })} />
        <AutomationPick chosen={search['f.automation_id']} onPick={id => only({ 'f.automation_id': id })} />
        <EventPick chosen={events} onPick={name => only({ 'f.event_name': toggled(events, name) })} />
        <SpanPick name={t('When they were begun')} />
        {search['f.user_id'] && (
          <Taken label={t('of {id}', { id: shortId(search['f.user_id']) })} onTake={() => only({ 'f.user_id': undefined })} />
        )}
        {isFiltered(search) && (
          <button type="button" className="chip dashed" onClick={() => set(NO_FILTER)}>
            {t('Clear the filters')}
          </button>
        )}
      </div>
    </>
  )
}

const MOST = 100

function AutomationPick({ chosen, onPick }: { chosen: string | undefined; onPick: (id: string | undefined) => void }) {
  const [wanted, setWanted] = useState(chosen !== undefined)
  const { data, isLoading } = useRead('v4ListAutomations', { query: { limit: MOST } }, { when: wanted })
  const automations = data?.data ?? []
  const name = automations.find(({ id }) => id === chosen)?.name
  return (
    <Pick
      wide
      free
      reading={isLoading}
      icon="flow"
      name={t('Automation')}
      text={chosen === undefined ? t('All automations') : (name ?? shortId(chosen))}
      on={chosen !== undefined}
      options={[{ code: '', label: t('All automations') }, ...automations.map(({ id, name: label }) => ({ code: id, label }))]}
      chosen={[chosen ?? '']}
      onPick={id => onPick(id === '' || id === chosen ? undefined : id)}
      onOpen={() => setWanted(true)}
    />
  )
}

function EventPick({ chosen, onPick }: { chosen: readonly string[]; onPick: (name: string) => void }) {
  const [wanted, setWanted] = useState(false)
  const { data, isLoading } = useRead('v4ListEventCatalogue', {}, { when: wanted })
  const names = [...new Set([...chosen, ...(data?.data ?? []).map(({ event_name }) => event_name)])]
  const text = chosen.length === 0 ? t('Any event') : chosen.length === 1 ? plain(chosen[0]!) : t('{n} events', { n: chosen.length })
  return (
    <Pick
      wide
      several
      free
      reading={isLoading}
      icon="bolt"
      name={t('Begun by')}
      text={text}
      on={chosen.length > 0}
      options={names.map(code => ({ code, label: plain(code) }))}
      chosen={chosen}
      onPick={onPick}
      onOpen={() => setWanted(true)}
    />
  )
}
