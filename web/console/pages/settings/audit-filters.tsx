import { Menu, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ActorKind } from '../../../../clients/typescript/src/index.ts'
import { type Search, useAddress } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { shortId } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { ACTORS, deedOf } from './audit-words.ts'

const KINDS = Object.keys(ACTORS) as ActorKind[]
export const NO_AUDIT_FILTER = { 'f.actor': undefined, 'f.operation': undefined, 'f.id': undefined, after: undefined }

export const isAuditFiltered = (search: Search) => ['f.actor', 'f.operation', 'f.id'].some(name => search[name] !== undefined)

export function auditQueryOf(search: Search): NonNullable<Input<'v4ListAuditLog'>['query']> {
  const actor = KINDS.find(kind => kind === search['f.actor'])
  return {
    limit: 50,
    ...(actor && { 'filter[actor][]': [actor] }),
    ...(search['f.operation'] && { 'filter[operation][]': [search['f.operation']] }),
    ...(search['f.id'] && { 'filter[resource_id]': search['f.id'] }),
    ...(search.after && { starting_after: search.after }),
  }
}

export function AuditFilters() {
  const [search, set] = useAddress()
  const [typed, setTyped] = useState('')
  const actor = KINDS.find(kind => kind === search['f.actor'])
  const only = (change: Search) => set({ ...change, after: undefined })
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
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <button type="button" className={actor ? 'chip on' : 'chip'}>
            <Icon name="user" size={14} />
            {actor ? t(ACTORS[actor]) : t('By whomever')}
            <Icon name="fold" size={12} />
          </button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => only({ 'f.actor': undefined })}>{t('By whomever')}</Menu.Item>
          {KINDS.map(kind => (
            <Menu.Item key={kind} onClick={() => only({ 'f.actor': kind })}>
              {t(ACTORS[kind])}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {search['f.operation'] && <Taken label={deedOf(search['f.operation'])} onTake={() => only({ 'f.operation': undefined })} />}
      {search['f.id'] && <Taken label={shortId(search['f.id'])} onTake={() => only({ 'f.id': undefined })} />}
    </div>
  )
}

const Taken = ({ label, onTake }: { label: string; onTake: () => void }) => (
  <button type="button" className="chip on" aria-label={t('Take the filter {label} away', { label })} onClick={onTake}>
    {label}
    <Icon name="close" size={12} />
  </button>
)
