import { Button } from '@mantine/core'
import { useAddress } from '../../data/address.ts'
import { Empty } from '../../parts/empty.tsx'
import { curlOf } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'

const FIRST = {
  body: { events: [{ event_id: 'first-1', event_name: 'app_opened', identity_id: 'customer-1', happened_at: '2026-01-01T09:00:00Z' }] },
}

/** Nobody is selected, or nobody is there yet. */
export function Nobody() {
  const [search, set] = useAddress()
  const names = Object.keys(search).filter(name => name === 'q' || name === 'cursor' || name.startsWith('f.'))
  if (names.length === 0)
    return (
      <Empty
        icon="people"
        title={t('No customer yet')}
        why={t(
          'A customer appears with the first start of the app, the first purchase, or the first event that names somebody, as this one does.',
        )}
        action={
          <a className="link" href="/docs" target="_blank" rel="noreferrer">
            {t('How to send the first event')}
          </a>
        }
        curl={curlOf('v4CreateEvents', FIRST)}
      />
    )
  return (
    <Empty
      icon="people"
      title={search.q ? t('Nobody is found by “{text}”', { text: search.q }) : t('Nobody is selected')}
      why={t(
        'The search takes the beginning of a user id, an identity, your own id, an e-mail or a name, in any case; or a whole transaction of a store. Only those with a chosen status and platform are shown.',
      )}
      action={
        <Button size="xs" variant="default" onClick={() => set(Object.fromEntries(names.map(name => [name, undefined])))}>
          {t('Show everybody')}
        </Button>
      }
    />
  )
}
