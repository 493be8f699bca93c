import { Popover, TextInput } from '@mantine/core'
import { memo, useEffect, useState } from 'react'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { usePreferences } from '../../data/session.ts'
import { shortId } from '../../parts/copy.tsx'
import { moment } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { plain, t } from '../../parts/t.ts'
import { isFiltered, namesOf, SPANS } from './query.ts'
import { SpanForm } from './span-form.tsx'

/** Which part of the log: whose events, of which time, of which names. Names are chosen in the catalogue. */
export const Filters = memo(() => {
  const [search, set] = useAddress()
  const names = namesOf(search)
  const without = (name: string) => names.filter(other => other !== name).join(',') || undefined
  return (
    <div className="filters">
      <PersonFilter />
      <SpanFilter />
      {search['f.customer'] && (
        <Taken
          label={t('of {id}', { id: shortId(search['f.customer']) })}
          onTake={() => set({ 'f.customer': undefined, after: undefined })}
        />
      )}
      {names.map(name => (
        <Taken key={name} label={plain(name)} onTake={() => set({ 'f.name': without(name), after: undefined })} />
      ))}
      {isFiltered(search) && (
        <button type="button" className="chip dashed" onClick={() => set(NONE)}>
          {t('Clear the filters')}
        </button>
      )}
    </div>
  )
})

const NONE = { 'f.name': undefined, 'f.customer': undefined, range: undefined, from: undefined, to: undefined, after: undefined }

/** A filter that is on; a click takes it away. */
export const Taken = ({ label, onTake }: { label: string; onTake: () => void }) => (
  <button type="button" className="chip on" aria-label={t('Take the filter {label} away', { label })} onClick={onTake}>
    <span className="chip-text" title={label}>
      {label}
    </span>
    <Icon name="close" size={12} />
  </button>
)

/** A person by what the search takes: id, identity, e-mail address, transaction. */
export function PersonFilter({ label = t('Only events of a person') }: { label?: string }) {
  const [, set] = useAddress()
  const [typed, setTyped] = useState('')
  const [asked, ask] = useState<string>()
  const { data, isFetching, error } = useRead('v4Search', { query: { q: asked ?? '' } }, { when: asked !== undefined })
  const isRead = asked !== undefined && data !== undefined && !isFetching
  const found = isRead ? data.data.find(({ kind }) => kind === 'customer')?.id : undefined
  useEffect(() => {
    if (found === undefined) return
    set({ 'f.customer': found, after: undefined })
    setTyped('')
    ask(undefined)
  }, [found, set])
  const nobody = isRead && found === undefined ? t('Nobody is found by this.') : undefined
  return (
    <form
      className="person-filter"
      onSubmit={event => {
        event.preventDefault()
        if (typed.trim().length > 1) ask(typed.trim())
      }}
    >
      <TextInput
        data-filter
        size="xs"
        leftSection={<Icon name="user" size={13} />}
        aria-label={label}
        placeholder={t('Person: id, identity, e-mail')}
        value={typed}
        error={error?.message ?? nobody}
        maxLength={256}
        onChange={({ currentTarget }) => {
          setTyped(currentTarget.value)
          ask(undefined)
        }}
      />
    </form>
  )
}

export function SpanFilter() {
  const [search, set] = useAddress()
  const { zone } = usePreferences()
  const [opened, setOpened] = useState(false)
  const own = search.from !== undefined || search.to !== undefined
  const preset = SPANS[search.range ?? '']
  const label = preset ? t(preset) : own ? textOf(search, zone) : t('Any time')
  return (
    <Popover position="bottom-start" width={300} withinPortal trapFocus returnFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <button type="button" className={preset || own ? 'chip on' : 'chip'} aria-expanded={opened} onClick={() => setOpened(!opened)}>
          <Icon name="clock" size={14} />
          <span className="chip-text" title={label}>
            {label}
          </span>
          <Icon name="fold" size={12} />
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('When it happened')}>
        <SpanForm
          search={search}
          onChoose={change => {
            set({ range: undefined, from: undefined, to: undefined, ...change, after: undefined })
            setOpened(false)
          }}
        />
      </Popover.Dropdown>
    </Popover>
  )
}

function textOf({ from, to }: { from?: string | undefined; to?: string | undefined }, zone: string): string {
  const at = (text: string) => (Number.isFinite(Number(text)) ? moment(Number(text), zone) : text)
  if (from && to) return t('{from} to {to}', { from: at(from), to: at(to) })
  return from ? t('since {from}', { from: at(from) }) : t('before {to}', { to: at(to ?? '') })
}
