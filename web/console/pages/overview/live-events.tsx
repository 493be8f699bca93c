import type { Event } from '../../../../clients/typescript/src/index.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { iconOfEvent } from '../../parts/event-icon.ts'
import { Icon } from '../../parts/icon.tsx'
import { LiveMark } from '../../parts/live-mark.tsx'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

/** The latest events, as they come. */
export default function LiveEvents() {
  const read = useRead('v4ListEvents', { query: { limit: 10, sort_order: 'desc' } }, { topics: ['events'] })
  return (
    <Card title={t('Live')} right={<LiveMark />} flush>
      <DataState
        of={read}
        rows={10}
        isEmpty={({ data }) => data.length === 0}
        empty={<Empty icon="bolt" title={t('No event yet')} why={t('The first one appears here within a second of its arrival.')} />}
      >
        {({ data }) => (
          <ul className="line live">
            {data.map(event => (
              <Row key={event.id} event={event} />
            ))}
          </ul>
        )}
      </DataState>
    </Card>
  )
}

function Row({ event }: { event: Event }) {
  const { icon, tone } = iconOfEvent(event.event_name ?? '')
  return (
    <li>
      <span className={`node ${tone}`}>
        <Icon name={icon} size={13} />
      </span>
      <div>
        <span className="line-title">{plain(event.event_name ?? t('Event'))}</span>
        <div className="line-more">
          {event.customer_uid ? (
            <To to={`/customers/${event.customer_uid}`} className="link-quiet">
              <Id>{event.customer_uid}</Id>
            </To>
          ) : (
            t('no customer')
          )}
        </div>
      </div>
      <div className="line-when">
        <Time at={event.happened_at} relative />
      </div>
    </li>
  )
}
