import { Button } from '@mantine/core'
import { useAddress } from '../../data/address.ts'
import { Empty } from '../../parts/empty.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { isFiltered, NO_FILTER } from './query.ts'

/** No run yet; filters that fit none; or filters that have fitted none so far, since one answer looks at 10,000 runs. */
export function Nothing({ hasMore, further }: { hasMore: boolean; further: () => void }) {
  const [search, set] = useAddress()
  if (hasMore)
    return (
      <Empty
        icon="search"
        title={t('Nothing among the 10,000 runs that were looked at')}
        why={t('One answer looks at no more of them. Older ones may fit.')}
        action={<Button onClick={further}>{t('Look at older ones')}</Button>}
      />
    )
  if (isFiltered(search) || search.after !== undefined)
    return (
      <Empty
        icon="search"
        title={t('No run fits')}
        why={t('No run of the last 90 days has all that the filters ask for.')}
        action={
          <Button variant="default" onClick={() => set(NO_FILTER)}>
            {t('Show all runs')}
          </Button>
        }
      />
    )
  return (
    <Empty
      icon="runs"
      title={t('No run yet')}
      why={t('An automation that is active begins one for each event that it names. Runs stay here for 90 days after their end.')}
      action={
        <To to="/automations" className="link">
          {t('To the automations')}
        </To>
      }
      curl={`curl "${location.origin}/v4/automation-runs" -H "Authorization: Bearer $KEY"`}
    />
  )
}
