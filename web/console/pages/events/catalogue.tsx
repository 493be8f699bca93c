import { TextInput } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { memo, useState } from 'react'
import type { EventCatalogue, EventType } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { count } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { counted, plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { namesOf } from './query.ts'

const MOST_CHOSEN = 50

/** Every name that events have, the most frequent ones first; a name is a filter. */
export const Catalogue = memo(() => {
  const narrow = useMediaQuery('(max-width: 860px)', undefined, { getInitialValueInEffect: false })
  const read = useRead('v4ListEventCatalogue', {}, { every: 30_000 })
  const names = (
    <DataState of={read} rows={10}>
      {data => <Names catalogue={data} />}
    </DataState>
  )
  if (!narrow)
    return (
      <Card title={t('Names')} right={t('24 h · 7 days')} flush>
        {names}
      </Card>
    )
  return (
    <details className="card flush names-fold">
      <summary>
        {t('Names of events')}
        <Icon name="fold" size={14} />
      </summary>
      {names}
    </details>
  )
})

function Names({ catalogue }: { catalogue: EventCatalogue }) {
  const [search, set] = useAddress()
  const [typed, setTyped] = useState('')
  const [all, setAll] = useState(false)
  const chosen = namesOf(search)
  const fits = ({ event_name, title }: EventType) => `${event_name} ${title}`.toLowerCase().includes(typed.trim().toLowerCase())
  const found = catalogue.data.filter(fits)
  const happened = found.filter(
    ({ event_name, counted, last_happened_at }) => counted > 0 || last_happened_at || chosen.includes(event_name),
  )
  const shown = all || typed.trim() !== '' ? found : happened
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter(other => other !== name) : [...chosen, name].slice(-MOST_CHOSEN)
    set({ 'f.name': next.join(',') || undefined, after: undefined })
  }
  return (
    <>
      <div className="names-find">
        <TextInput
          size="xs"
          aria-label={t('Find a name')}
          placeholder={t('Find a name')}
          leftSection={<Icon name="search" size={13} />}
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </div>
      <ul className="names">
        {shown.map(type => (
          <li key={type.event_name}>
            <button
              type="button"
              aria-pressed={chosen.includes(type.event_name)}
              onClick={() => toggle(type.event_name)}
              title={type.event_name}
            >
              <i aria-hidden="true">{chosen.includes(type.event_name) && <Icon name="check" size={13} />}</i>
              <span className="grow">{plain(type.event_name)}</span>
              <Counted of={type.count_24h} unseen={t('in 24 hours')} />
              <Counted of={type.count_7d} unseen={t('in 7 days')} />
            </button>
          </li>
        ))}
        {shown.length === 0 && (
          <li className="names-none">{typed ? t('No event has this name.') : t('No event happened in seven days.')}</li>
        )}
      </ul>
      <div className="names-foot">
        {typed.trim() === '' && found.length > happened.length && (
          <button type="button" className="chip small" aria-expanded={all} onClick={() => setAll(!all)}>
            {all
              ? t('Only those that happened')
              : counted(found.length - happened.length, '{n} more has not happened', '{n} more have not happened')}
          </button>
        )}
        {catalogue.data.some(({ count_7d }) => count_7d === null) && (
          <p>
            {t('The newest 200,000 events are counted, since')} <Time at={catalogue.counted_since} />
          </p>
        )}
      </div>
    </>
  )
}

/** Null: so many happened that a longer time is not counted. */
const Counted = ({ of, unseen }: { of: number | null; unseen: string }) => (
  <span className={of === 0 ? 'num faint' : 'num'}>
    {of === null ? t('many') : count(of)}
    <span className="unseen"> {unseen}</span>
  </span>
)
