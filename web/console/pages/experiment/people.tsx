import { NativeSelect } from '@mantine/core'
import { useState } from 'react'
import type { Experiment, ExperimentGroup, ExperimentUser } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useNoNetwork } from '../../data/online.ts'
import { usePlace } from '../../data/place.ts'
import { usePages } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Card } from '../../parts/card.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Id, shortId } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PersonFilter } from '../../parts/person-filter.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { say, sayWithUndo } from '../../parts/undo.tsx'

/** Who is in which group; people can be pinned to one, and taken out. */
export function People({ of: { id, status }, groups }: { of: Experiment; groups: readonly ExperimentGroup[] | undefined }) {
  const [search, set] = useAddress()
  const role = useDenied('editor', usePlace()?.project)
  const isAll = search.people === 'all'
  const path = { experiment_id: id }
  const group = isAll ? groups?.find(one => one.id === search.group)?.id : undefined
  const query = { limit: 20, ...(!isAll && { pinned: true }), ...(group && { 'filter[group_id]': group }) }
  const read = usePages('v4ListExperimentUsers', { path, query })
  const changes = { changes: ['v4ListExperimentUsers', 'v4GetExperimentsSummary', 'v4ListRemoteConfigurationUsers'] } as const
  const attaching = useWrite('v4AttachUserToExperiment', changes)
  const detaching = useWrite('v4DetachUserFromExperiment', changes)
  const denied = role ?? (status === 'finished' ? t('a finished experiment cannot be changed') : undefined)
  const nameOf = (group: string) => groups?.find(one => one.id === group)?.name ?? shortId(group)
  const tell = (error: Error) => say(error.message)
  const attach = (user: string, group: string) =>
    void attaching.send({ path: { ...path, user_id: user }, body: { group_id: group } }).then(
      // No undo: to unpin would not give back the group or the pins that this has replaced.
      () => say(t('{person} is pinned to {group}; it replaces other pins of this key', { person: shortId(user), group: nameOf(group) })),
      tell,
    )
  const detach = ({ id: user, group_id, pinned }: ExperimentUser) =>
    void detaching.send({ path: { ...path, user_id: user } }).then(() => {
      const done = t('{person} is in no group any more; the next request of the app decides', { person: shortId(user) })
      // To pin somebody whom an evaluation had assigned would be no way back.
      if (!pinned) return say(done)
      sayWithUndo(done, () => attaching.send({ path: { ...path, user_id: user }, body: { group_id } }))
    }, tell)
  return (
    <Card
      title={t('People')}
      right={
        <>
          <Chip on={!isAll} onClick={() => set({ people: undefined, group: undefined })}>
            {t('Pinned')}
          </Chip>
          <Chip on={isAll} onClick={() => set({ people: 'all' })}>
            {t('All')}
          </Chip>
        </>
      }
    >
      {denied === undefined && groups !== undefined && groups.length > 0 && <Attach groups={groups} onAttach={attach} />}
      {isAll && groups !== undefined && groups.length > 1 && (
        <NativeSelect
          className="experiment-of-group"
          size="xs"
          aria-label={t('Shown people')}
          data={[
            { value: '', label: t('of every group') },
            ...groups.map(({ id: of, name }) => ({ value: of, label: t('of {group}', { group: name ?? shortId(of) }) })),
          ]}
          value={group ?? ''}
          onChange={({ currentTarget }) => set({ group: currentTarget.value === '' ? undefined : currentTarget.value })}
        />
      )}
      <DataState
        of={read}
        rows={2}
        isEmpty={rows => rows.length === 0}
        empty={
          <p className="growth-note">
            {isAll ? t('Nobody is in a group.') : t('Nobody is pinned: people come into groups by themselves.')}
          </p>
        }
      >
        {rows => (
          <ul className="growth-rows">
            {rows.map(user => (
              <li key={user.id}>
                <span>
                  <To to={`/customers/${encodeURIComponent(user.id)}`} className="link">
                    <Id>{user.id}</Id>
                  </To>
                  <span className="growth-below">
                    <bdi>{nameOf(user.group_id)}</bdi> · {user.pinned ? t('pinned') : t('assigned')} <Time at={user.assigned_at} relative />
                  </span>
                </span>
                <Act
                  denied={denied}
                  size="compact-xs"
                  variant="default"
                  aria-label={user.pinned ? t('Unpin {person}', { person: user.id }) : t('Take {person} out', { person: user.id })}
                  onClick={() => detach(user)}
                >
                  {user.pinned ? t('Unpin') : t('Take out')}
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

function Attach({ groups, onAttach }: { groups: readonly ExperimentGroup[]; onAttach: (user: string, group: string) => void }) {
  const [group, setGroup] = useState(groups[0]!.id)
  const noNetwork = useNoNetwork()
  const chosen = groups.some(({ id }) => id === group) ? group : groups[0]!.id
  return (
    <div className="growth-add">
      <NativeSelect
        size="xs"
        aria-label={t('Pin to the group')}
        data={groups.map(({ id, name }) => ({ value: id, label: name ?? shortId(id) }))}
        value={chosen}
        onChange={({ currentTarget }) => setGroup(currentTarget.value)}
      />
      <PersonFilter
        name={t('Pin a person')}
        onFind={user => (noNetwork === undefined ? onAttach(user, chosen) : say(t('Not pinned: {why}', { why: noNetwork })))}
      />
    </div>
  )
}
