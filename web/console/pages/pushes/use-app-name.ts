import { usePlace } from '../../data/place.ts'
import { useSession } from '../../data/session.ts'
import { t } from '../../parts/t.ts'

/** What stands above a notification: a phone has the name of the app there, of which the name of the project is the nearest. */
export function useAppName(): string {
  const project = usePlace()?.project
  return useSession().data?.projects.find(({ id }) => id === project)?.name ?? t('Your app')
}
