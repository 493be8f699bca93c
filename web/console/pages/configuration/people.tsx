import type { RemoteConfigurationDetail } from '../../../../clients/typescript/src/index.ts'
import { useNoNetwork } from '../../data/online.ts'
import { usePlace } from '../../data/place.ts'
import { usePages } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Id, shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PersonFilter } from '../../parts/person-filter.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { say, sayWithUndo } from '../../parts/undo.tsx'

/** Who is pinned: they get it whatever the audience is. */
export function People({ of: { id, status } }: { of: RemoteConfigurationDetail }) {
  const input = { path: { config_id: id }, query: { limit: 20 } }
  const read = usePages('v4ListRemoteConfigurationUsers', input)
  const noNetwork = useNoNetwork()
  const role = useDenied('editor', usePlace()?.project)
  const denied = role ?? (status === 'archived' ? t('an archived configuration takes no pins') : undefined)
  const changes = { changes: ['v4ListRemoteConfigurationUsers', 'v4ListExperimentUsers'] } as const
  const attaching = useWrite('v4AttachUserToRemoteConfiguration', changes)
  const detaching = useWrite('v4DetachUserFromRemoteConfiguration', changes)
  const of = (user_id: string) => ({ path: { config_id: id, user_id } })
  const tell = (error: Error) => say(error.message)
  const attach = (user: string) => {
    if (denied !== undefined || noNetwork !== undefined) return say(t('Not pinned: {why}', { why: denied ?? noNetwork ?? '' }))
    void attaching
      .send(of(user))
      // No undo: to unpin would not give back the pins that this one has replaced, nor tell it from one that was there.
      .then(() => say(t('{person} is pinned; it replaces other pins of this key', { person: shortId(user) })), tell)
  }
  const detach = (user: string) =>
    void detaching
      .send(of(user))
      .then(() => sayWithUndo(t('{person} is not pinned any more', { person: shortId(user) }), () => attaching.send(of(user))), tell)
  return (
    <Card title={t('Pinned people')}>
      <p className="growth-note">{t('They are served it while it is active, whatever the share and the conditions say.')}</p>
      {denied === undefined && (
        <div className="growth-add">
          <PersonFilter name={t('Pin a person')} onFind={attach} />
        </div>
      )}
      <DataState
        of={read}
        rows={2}
        isEmpty={rows => rows.length === 0}
        empty={<p className="growth-note">{denied === undefined ? t('Nobody yet.') : t('Nobody ({why}).', { why: denied })}</p>}
      >
        {rows => (
          <ul className="growth-rows">
            {rows.map(({ id: user, pinned_at }) => (
              <li key={user}>
                <To to={`/customers/${encodeURIComponent(user)}`} className="link">
                  <Id>{user}</Id>
                </To>
                <span className="faint">
                  <Time at={pinned_at} relative />
                </span>
                <Act
                  denied={role}
                  size="compact-xs"
                  variant="default"
                  aria-label={t('Unpin {person}', { person: user })}
                  onClick={() => detach(user)}
                >
                  {t('Unpin')}
                </Act>
              </li>
            ))}
          </ul>
        )}
      </DataState>
      {read.hasNextPage && (
        <button type="button" className="chip more" disabled={read.isFetchingNextPage} onClick={read.more}>
          <Icon name="fold" size={12} />
          {t('More')}
        </button>
      )}
    </Card>
  )
}
