import { TextInput } from '@mantine/core'
import { useState } from 'react'
import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import { type Search, useAddress } from '../../data/address.ts'
import { ACTORS, deedOf, actorOf as shownActor, thingOf } from '../../parts/audit-words.ts'
import { shortId } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type Option, Pick } from '../../parts/pick.tsx'
import { SpanPick } from '../../parts/span-pick.tsx'
import { t } from '../../parts/t.ts'
import { Taken } from '../../parts/taken.tsx'
import { actorOf, isFiltered, KINDS, NO_FILTER, RESOURCES } from './query.ts'

/** Which changes: by whom, of what, about which object, and when. `entries`: those on the page, whose actors are offered. */
export function Filters({ entries }: { entries: readonly AuditEntry[] }) {
  const [search, set] = useAddress()
  const [typed, setTyped] = useState('')
  const only = (change: Search) => set({ ...change, after: undefined })
  const actor = actorOf(search)
  const who = search['f.who']
  const resource = search['f.resource']
  return (
    <div className="filters audit-filters">
      <form
        onSubmit={event => {
          event.preventDefault()
          if (typed.trim()) only({ 'f.id': typed.trim() })
          setTyped('')
        }}
      >
        <TextInput
          data-filter
          size="xs"
          leftSection={<Icon name="search" size={13} />}
          aria-label={t('Only about the object with this id')}
          placeholder={t('Id of an object')}
          value={typed}
          maxLength={256}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </form>
      <Pick
        icon="user"
        name={t('Who')}
        text={actor ? t(ACTORS[actor]) : t('By anyone')}
        on={actor !== undefined}
        options={[{ code: '', label: t('By anyone') }, ...KINDS.map(code => ({ code, label: t(ACTORS[code]) }))]}
        chosen={[actor ?? '']}
        onPick={code => only({ 'f.actor': code === '' || code === actor ? undefined : code })}
      />
      <Pick
        free
        icon="key"
        name={t('Which person, key or assistant')}
        text={who ?? t('Any person or key')}
        on={who !== undefined}
        options={[{ code: '', label: t('Any person or key') }, ...peopleOf(entries)]}
        chosen={[who ?? '']}
        onPick={code => only({ 'f.who': code === '' || code === who ? undefined : code })}
      />
      <Pick
        free
        icon="grid"
        name={t('On what')}
        text={resource ? thingOf(resource) : t('On anything')}
        on={resource !== undefined}
        options={[{ code: '', label: t('On anything') }, ...RESOURCES.map(code => ({ code, label: thingOf(code) }))]}
        chosen={[resource ?? '']}
        onPick={code => only({ 'f.resource': code === '' || code === resource ? undefined : code })}
      />
      <SpanPick name={t('When it was changed')} />
      {search['f.operation'] && <Taken label={deedOf(search['f.operation'])} onTake={() => only({ 'f.operation': undefined })} />}
      {search['f.id'] && <Taken label={shortId(search['f.id'])} onTake={() => only({ 'f.id': undefined })} />}
      {isFiltered(search) && (
        <button type="button" className="chip dashed" onClick={() => set(NO_FILTER)}>
          {t('Clear the filters')}
        </button>
      )}
    </div>
  )
}

/** Who did what is on the page, each once. */
const peopleOf = (entries: readonly AuditEntry[]): Option[] =>
  [...new Map(entries.flatMap(({ actor }) => (actor.id === null ? [] : [[actor.id, shownActor(actor)] as const])))].map(
    ([code, label]) => ({
      code,
      label,
    }),
  )
