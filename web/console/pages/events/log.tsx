import { Fragment, memo } from 'react'
import type { Event } from '../../../../clients/typescript/src/index.ts'
import { Id, shortId } from '../../parts/copy.tsx'
import { iconOfEvent } from '../../parts/event-icon.ts'
import { Icon } from '../../parts/icon.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

type Cell = { event: Event }
// An event never changes: with many a second, only the cells of new ones are drawn.
const isSame = (one: Cell, other: Cell) => one.event.id === other.event.id

const Name = memo(({ event }: Cell) => {
  const { icon, tone } = iconOfEvent(event.event_name ?? '')
  return (
    <span className="event-name">
      <span className={`node ${tone}`}>
        <Icon name={icon} size={13} />
      </span>
      <span>
        {plain(event.event_name ?? t('Event'))}
        {event.customer_uid && <span className="narrow-only">{shortId(event.customer_uid)}</span>}
      </span>
    </span>
  )
}, isSame)

const Person = memo(
  ({ event }: Cell) =>
    event.customer_uid ? (
      <To to={`/customers/${event.customer_uid}`} className="link-quiet row-cell">
        <Id>{event.customer_uid}</Id>
      </To>
    ) : (
      <span className="faint">{t('no customer')}</span>
    ),
  isSame,
)

/** More do not fit; the title has all. */
const MOST_PROPERTIES = 8

const Properties = memo(({ event }: Cell) => {
  const all = Object.entries(event.properties)
  return (
    <span className="event-properties" title={all.map(([name, value]) => `${name}: ${value}`).join(', ') || undefined}>
      {all.length === 0 && <span className="faint">–</span>}
      {all.slice(0, MOST_PROPERTIES).map(([name, value], at) => (
        <Fragment key={name}>
          {at > 0 && ', '}
          <bdi>{name}</bdi>: <bdi>{String(value)}</bdi>
        </Fragment>
      ))}
    </span>
  )
}, isSame)

const When = memo(({ event }: Cell) => <Time at={event.happened_at} />, isSame)

const COLUMNS: readonly Column<Event>[] = [
  { key: 'name', head: t('Event'), cell: event => <Name event={event} /> },
  { key: 'customer', head: t('Customer'), cell: event => <Person event={event} />, wideOnly: true },
  { key: 'properties', head: t('Properties'), cell: event => <Properties event={event} />, wideOnly: true },
  { key: 'when', head: t('Happened'), cell: event => <When event={event} /> },
]

/** A page of the log, newest first. */
export const Log = ({ events, onOpen }: { events: readonly Event[]; onOpen: (event: Event) => void }) => (
  <Table caption={t('Events')} columns={COLUMNS} rows={events} rowKey={({ id }) => id} onOpen={onOpen} />
)
