import { type MouseEvent, memo, useMemo } from 'react'
import type { Event } from '../../../../clients/typescript/src/index.ts'
import { searchOf, usePlace } from '../../data/place.ts'
import { usePreferences } from '../../data/session.ts'
import { Id, shortId } from '../../parts/copy.tsx'
import { iconOfEvent } from '../../parts/event-icon.ts'
import { moment } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { plain, t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { useGo } from '../../parts/to.tsx'

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

/** A link as `To` makes it, without what that watches: with many events a second, forty of them come at once. */
const Person = memo(({ event, search }: Cell & { search: string }) => {
  const { customer_uid: id } = event
  if (!id) return <span className="faint">{t('no customer')}</span>
  return (
    <a className="link-quiet row-cell" href={`/console/customers/${encodeURIComponent(id)}${search}`} data-person={id}>
      <Id>{id}</Id>
    </a>
  )
}, isSame)

const Properties = memo(({ event }: Cell) => {
  const text = Object.entries(event.properties)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')
  return (
    <span className="event-properties" title={text || undefined}>
      {text || <span className="faint">–</span>}
    </span>
  )
}, isSame)

/** As `Time`, with the tip of the browser. */
const When = memo(
  ({ event, zone }: Cell & { zone: string }) => (
    <time className="time" dateTime={event.happened_at} title={`${moment(event.happened_at, zone)} ${zone} · ${event.happened_at}`}>
      {moment(event.happened_at, zone)}
    </time>
  ),
  isSame,
)

const columnsFor = (zone: string, search: string): readonly Column<Event>[] => [
  { key: 'name', head: t('Event'), cell: event => <Name event={event} /> },
  { key: 'customer', head: t('Customer'), cell: event => <Person event={event} search={search} />, wideOnly: true },
  { key: 'properties', head: t('Properties'), cell: event => <Properties event={event} />, wideOnly: true },
  { key: 'when', head: t('Happened'), cell: event => <When event={event} zone={zone} /> },
]

/** A page of the log, newest first. */
export const Log = memo(({ events, onOpen }: { events: readonly Event[]; onOpen: (event: Event) => void }) => {
  const { zone } = usePreferences()
  const place = usePlace()
  const go = useGo()
  const columns = useMemo(() => columnsFor(zone, `?${new URLSearchParams(searchOf(place))}`), [zone, place])
  const toPerson = (click: MouseEvent) => {
    const id = (click.target as Element).closest('[data-person]')?.getAttribute('data-person')
    if (!id || click.ctrlKey || click.metaKey || click.shiftKey || click.button !== 0) return
    click.preventDefault()
    go({ to: `/customers/${encodeURIComponent(id)}` })
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the clicks are those of the links inside
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a link is a click
    <div onClick={toPerson}>
      <Table key={zone} caption={t('Events')} columns={columns} rows={events} rowKey={({ id }) => id} onOpen={onOpen} />
    </div>
  )
})
