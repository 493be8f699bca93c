import type { RemoteConfigurationDetail } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { useKeys } from '../../parts/keys.ts'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'

/** What one can do with the configuration as a whole. */
export function Actions({ of: { id, status } }: { of: RemoteConfigurationDetail }) {
  const [, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const open = (at: string) => set({ at }, { push: true })
  const isArchived = status === 'archived'
  useKeys(denied === undefined && !isArchived ? { e: { says: t('Edit the configuration'), run: () => open('edit') } } : {})
  return (
    <>
      <ShowTheCall name="v4GetRemoteConfiguration" input={{ path: { config_id: id } }} />
      <Act denied={undefined} size="xs" variant="default" onClick={() => open('served')}>
        {t('What would somebody get?')}
      </Act>
      <Act denied={denied} size="xs" variant="default" onClick={() => open('delete')}>
        {t('Delete')}
      </Act>
      {!isArchived && (
        <>
          <Act denied={denied} size="xs" variant="default" onClick={() => open('archive')}>
            {t('Archive')}
          </Act>
          <Act denied={denied} size="xs" {...(status === 'draft' && { variant: 'default' as const })} onClick={() => open('edit')}>
            {t('Edit')}
          </Act>
        </>
      )}
      {status === 'draft' && (
        <Act denied={denied} size="xs" onClick={() => open('activate')}>
          {t('Activate')}
        </Act>
      )}
    </>
  )
}
