import { useState } from 'react'
import { useRead } from '../../data/read.ts'
import { Choice } from '../../parts/choice.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { plain, t } from '../../parts/t.ts'

const ALL_CUSTOM = '*'

/** Which events go out: the whole catalogue, or the chosen ones. */
export function EventChoice({ events, onChange }: { events: string[] | null; onChange: (events: string[] | null) => void }) {
  const [wanted, setWanted] = useState(false)
  const { data, isLoading } = useRead('v4ListEventCatalogue', {}, { when: wanted })
  const options = [
    { code: ALL_CUSTOM, label: t('All custom events') },
    ...(data?.data ?? []).map(({ event_name }) => ({ code: event_name, label: plain(event_name) })),
  ]
  const pick = (code: string) => {
    const chosen = events ?? []
    onChange(chosen.includes(code) ? chosen.filter(one => one !== code) : [...chosen, code])
  }
  return (
    <div>
      <p className="form-label">{t('Events that go out')}</p>
      <Choice
        name={t('Events that go out')}
        value={events === null ? 'all' : 'some'}
        options={[
          ['all', 'The whole catalogue'],
          ['some', 'The chosen ones'],
        ]}
        onChange={code => onChange(code === 'all' ? null : [ALL_CUSTOM])}
      />
      {events === null ? (
        <p className="soft integration-takes">{t('No custom events.')}</p>
      ) : (
        <div className="filters event-choice">
          {events.map(event => (
            <button
              type="button"
              key={event}
              className="chip on"
              aria-label={t('Leave {event} out', { event: textOf(event) })}
              onClick={() => pick(event)}
            >
              <span className="chip-text" title={event}>
                {textOf(event)}
              </span>
              <Icon name="close" size={12} />
            </button>
          ))}
          <Pick
            name={t('Another event')}
            text={t('Another event')}
            dashed
            several
            free
            reading={isLoading}
            options={options}
            chosen={events}
            onPick={pick}
            onOpen={() => setWanted(true)}
          />
        </div>
      )}
    </div>
  )
}

const textOf = (event: string) => (event === ALL_CUSTOM ? t('All custom events') : plain(event))
