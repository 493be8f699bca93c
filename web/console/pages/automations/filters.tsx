import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Chip } from '../../parts/chip.tsx'
import { Pick } from '../../parts/pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { useEventNames } from '../automation/use-names.ts'
import { listQuery, STATUSES } from './query.ts'

/** Which automations are shown: by status, several of them or all, and by an event that starts them. */
export function Filters() {
  const [search, set] = useAddress()
  const { 'filter[status][]': on = [] } = listQuery(search)
  const event = search['f.event']
  const { data } = useRead('v4ListEventCatalogue', {})
  const nameOf = useEventNames()
  const options = (data?.data ?? []).map(({ event_name }) => ({ code: event_name, label: nameOf(event_name) }))
  const text = event === undefined ? undefined : nameOf(event)
  const toggle = (code: (typeof STATUSES)[number]) =>
    set({ 'f.status': STATUSES.filter(known => on.includes(known) !== (known === code)).join(',') || undefined })
  return (
    <div className="filters">
      {STATUSES.map(code => (
        <Chip key={code} on={on.includes(code)} onClick={() => toggle(code)}>
          {plain(code)}
        </Chip>
      ))}
      <Pick
        name={t('Event that starts it')}
        text={text ?? t('Any event')}
        icon="bolt"
        on={event !== undefined}
        isFilter
        options={[{ code: '', label: t('Any event') }, ...options]}
        chosen={[event ?? '']}
        onPick={code => set({ 'f.event': code || undefined })}
      />
    </div>
  )
}
