import { Combobox, useCombobox } from '@mantine/core'
import { useState } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { t } from './t.ts'

export type Option = { code: string; label: string; group?: string }

type Props = {
  /** What is chosen here, for readers: "Split by". */
  name: string
  /** What the button says: usually what is chosen. */
  text: string
  options: readonly Option[]
  chosen: readonly string[]
  onPick: (code: string) => void
  /** Stays open, so that several can be chosen. */
  several?: boolean
  /** What is typed may be chosen although it is no option. */
  free?: boolean
  icon?: IconName
  on?: boolean
  dashed?: boolean
  wide?: boolean
  /** The field that `/` goes to. */
  isFilter?: boolean
  onOpen?: () => void
  opensAtOnce?: boolean
  onClose?: () => void
}

/** So many options are shown; the others are found by typing. */
const MOST = 200
/** Fewer are seen at once: no field to search in. */
const SEARCHED = 9

/** A button with a list of options below it, which is searched by typing. Arrows and Enter choose, Esc closes. */
export function Pick({ name, text, options, chosen, onPick, several, free, icon, on, dashed, wide, isFilter, ...events }: Props) {
  const [query, setQuery] = useState('')
  const searched = free || options.length >= SEARCHED
  const store = useCombobox({
    defaultOpened: events.opensAtOnce ?? false,
    onDropdownOpen: () => {
      if (searched) requestAnimationFrame(() => store.focusSearchInput())
      events.onOpen?.()
    },
    onDropdownClose: () => {
      store.resetSelectedOption()
      setQuery('')
      if (searched) store.focusTarget()
      events.onClose?.()
    },
  })
  const wanted = query.trim().toLowerCase()
  const found = options.filter(({ code, label }) => label.toLowerCase().includes(wanted) || code.toLowerCase().includes(wanted))
  const typed = free && query.trim() !== '' && !options.some(({ code }) => code === query.trim()) ? query.trim() : undefined
  return (
    <Combobox
      store={store}
      position="bottom-start"
      width={wide ? 320 : 250}
      shadow="md"
      // In its place in the page, so that it is in a landmark.
      withinPortal={false}
      onOptionSubmit={code => {
        onPick(code)
        if (!several) store.closeDropdown()
      }}
    >
      <Combobox.Target targetType="button" withAriaAttributes={false}>
        <button
          type="button"
          className={['chip', on && 'on', dashed && 'dashed'].filter(Boolean).join(' ')}
          aria-haspopup="listbox"
          aria-expanded={store.dropdownOpened}
          aria-label={text === name ? name : `${name}: ${text}`}
          title={text.length > 40 ? text : undefined}
          data-filter={isFilter}
          onClick={() => store.toggleDropdown()}
        >
          {icon && <Icon name={icon} size={14} />}
          <span className="chip-text">{text}</span>
          <Icon name="fold" size={12} />
        </button>
      </Combobox.Target>
      <Combobox.Dropdown>
        {searched && (
          <Combobox.Search
            value={query}
            onChange={event => {
              setQuery(event.currentTarget.value)
              store.updateSelectedOptionIndex()
            }}
            placeholder={free ? t('Type a value') : t('Find')}
            aria-label={t('Find in {name}', { name })}
          />
        )}
        <Combobox.Options className="pick-options" aria-label={name}>
          {groupsOf(found.slice(0, MOST)).map(([group, own]) =>
            group === '' ? (
              own.map(option => <Choice key={option.code} option={option} chosen={chosen} />)
            ) : (
              <Combobox.Group key={group} label={group}>
                {own.map(option => (
                  <Choice key={option.code} option={option} chosen={chosen} />
                ))}
              </Combobox.Group>
            ),
          )}
          {typed !== undefined && <Choice option={{ code: typed, label: typed }} chosen={chosen} />}
          {found.length === 0 && typed === undefined && <Combobox.Empty>{t('Nothing has this name')}</Combobox.Empty>}
          {found.length > MOST && <Combobox.Empty>{t('and {n} more: type to find them', { n: found.length - MOST })}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}

const Choice = ({ option: { code, label }, chosen }: { option: Option; chosen: readonly string[] }) => {
  const isChosen = chosen.includes(code)
  return (
    <Combobox.Option value={code} active={isChosen} className="pick-option" title={label.length > 34 ? label : undefined}>
      <span className="here">{isChosen && <Icon name="check" size={14} />}</span>
      <span className="pick-label">{label}</span>
    </Combobox.Option>
  )
}

function groupsOf(options: readonly Option[]): [string, Option[]][] {
  const groups = new Map<string, Option[]>()
  for (const option of options) {
    const group = option.group ?? ''
    const own = groups.get(group)
    if (own) own.push(option)
    else groups.set(group, [option])
  }
  return [...groups]
}
