import { Button } from '@mantine/core'
import { useAddress } from '../../data/address.ts'
import { Empty } from '../../parts/empty.tsx'
import { t } from '../../parts/t.ts'
import { isFiltered } from './query.ts'

/** A new environment; filters that fit nothing; or filters that have fitted nothing so far, since one answer looks at 10,000 events. */
export function Nothing({ hasMore, further }: { hasMore: boolean; further: () => void }) {
  const [search, set] = useAddress()
  const all = () =>
    set({ 'f.name': undefined, 'f.customer': undefined, range: undefined, from: undefined, to: undefined, after: undefined })
  if (hasMore)
    return (
      <Empty
        icon="search"
        title={t('Nothing among the 10,000 events that were looked at')}
        why={t('One answer looks at no more of them. Older ones may fit.')}
        action={<Button onClick={further}>{t('Look at older ones')}</Button>}
      />
    )
  if (isFiltered(search) || search.after !== undefined)
    return (
      <Empty
        icon="search"
        title={t('No event fits')}
        why={t('No event of this environment has all that the filters ask for.')}
        action={
          <Button variant="default" onClick={all}>
            {t('Show all events')}
          </Button>
        }
      />
    )
  return (
    <Empty
      icon="bolt"
      title={t('No event yet')}
      why={t('Events of apps, servers and stores appear here within a second of their arrival.')}
      curl={curl()}
    />
  )
}

const curl = () => {
  const happened_at = new Date().toISOString().replace(/\.\d+Z/, 'Z')
  const body = JSON.stringify({ events: [{ event_id: 'first', event_name: 'app_opened', identity_id: 'person-1', happened_at }] })
  return `curl "${location.origin}/v4/events" -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '${body}'`
}
