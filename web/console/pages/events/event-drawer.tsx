import type { Event } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Pairs } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Copy, Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'

/** One event: whose it is, what it carries, and its JSON as the API gives it. */
export function EventDrawer({ id, onClose }: { id: string; onClose: () => void }) {
  const read = useRead('v4GetEvent', { path: { event_id: id } })
  // While another event is read, the one before would stand under its address.
  const event = read.data?.id === id ? read.data : undefined
  return (
    <Drawer title={plain(event?.event_name ?? t('Event'))} onClose={onClose}>
      <DataState of={{ ...read, data: event }} rows={5}>
        {shown => <Shown event={shown} />}
      </DataState>
    </Drawer>
  )
}

function Shown({ event }: { event: Event }) {
  const [search, set] = useAddress()
  const { customer_uid: customer, event_name: name } = event
  const only = (change: Record<string, string>) => set({ ...change, after: undefined, at: undefined })
  return (
    <>
      <Pairs
        rows={[
          [t('Name'), <Copy key="name" text={name ?? ''} />],
          [
            t('Customer'),
            customer ? (
              <To key="customer" to={`/customers/${customer}`} className="link row-cell">
                <Id>{customer}</Id>
              </To>
            ) : undefined,
          ],
          [t('Happened'), <Time key="happened" at={event.happened_at} />],
          [t('Id'), <Copy key="id" text={event.id} />],
          [t('Id of the sender'), event.event_id === event.id ? t('none: the service made it') : <Copy key="own" text={event.event_id} />],
        ]}
      />
      <div className="event-more">
        {name && search['f.name'] !== name && <Chip onClick={() => only({ 'f.name': name })}>{t('Only events of this name')}</Chip>}
        {customer && search['f.customer'] !== customer && (
          <Chip onClick={() => only({ 'f.customer': customer })}>{t('Only events of this person')}</Chip>
        )}
      </div>
      <h3 className="drawer-title">{t('Properties')}</h3>
      {Object.keys(event.properties).length > 0 ? (
        <Pairs rows={Object.entries(event.properties).map(([key, value]) => [key, String(value)] as const)} />
      ) : (
        <p className="soft">{t('It was sent without properties of its own.')}</p>
      )}
      <div className="drawer-title event-json-head">
        <h3>JSON</h3>
        <ShowTheCall name="v4GetEvent" input={{ path: { event_id: event.id } }} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <section className="json" tabIndex={0} aria-label={t('JSON of the event')}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
        <pre tabIndex={0}>{JSON.stringify(event, undefined, 2)}</pre>
      </section>
    </>
  )
}
