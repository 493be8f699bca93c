import { Combobox, useCombobox } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'
import { onPress } from './on-press.ts'
import { faceOf, type Option, PickButton, type PickProps } from './pick.tsx'
import { t } from './t.ts'

/** So many options are shown; the others are found by typing. */
const MOST = 200
const FOCUS_MS = 30
/** Fewer are seen at once: no field to search in. */
const SEARCHED = 9

/** The button and its list, which is open at first. */
export default function PickList(props: PickProps) {
  const { name, options, chosen, onPick, ahead, several, free, reading, typedAs, wide, onOpen, onClose } = props
  const [query, setQuery] = useState('')
  const searched = free || options.length >= SEARCHED
  const store = useCombobox({
    defaultOpened: true,
    onDropdownOpen: () => {
      if (searched) requestAnimationFrame(() => store.focusSearchInput())
      onOpen?.()
    },
    onDropdownClose: () => {
      store.resetSelectedOption()
      setQuery('')
      store.focusTarget()
      onClose?.()
    },
  })
  const { focusSearchInput, focusTarget } = store
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it is there
  useEffect(() => {
    // After a list in which this one was chosen has given its focus back.
    const timer = setTimeout(searched ? focusSearchInput : focusTarget, FOCUS_MS)
    return () => clearTimeout(timer)
  }, [])
  const wanted = query.trim().toLowerCase()
  const found = options.filter(({ code, label }) => label.toLowerCase().includes(wanted) || code.toLowerCase().includes(wanted))
  const typed = free && !reading && query.trim() !== '' && !options.some(({ code }) => code === query.trim()) ? query.trim() : undefined
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
        <PickButton {...faceOf(props)} opened={store.dropdownOpened} onClick={() => store.toggleDropdown()} />
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
        <Combobox.Options
          className="pick-options"
          aria-label={name}
          tabIndex={0}
          // After a click on an option the focus is here: *Esc* closes the list, and not the window that it is in.
          data-mantine-stop-propagation
          onKeyDown={({ key }) => key === 'Escape' && store.closeDropdown()}
        >
          {groupsOf(found.slice(0, MOST)).map(([group, own]) =>
            group === '' ? (
              own.map(option => <Choice key={option.code} option={option} chosen={chosen} ahead={ahead} />)
            ) : (
              <Combobox.Group key={group} label={group}>
                {own.map(option => (
                  <Choice key={option.code} option={option} chosen={chosen} ahead={ahead} />
                ))}
              </Combobox.Group>
            ),
          )}
          {typed !== undefined && <Choice option={{ code: typed, label: typedAs?.(typed) ?? typed }} chosen={chosen} ahead={ahead} />}
          {found.length === 0 && typed === undefined && (
            <Combobox.Empty>{reading ? t('Loading') : t('Nothing has this name')}</Combobox.Empty>
          )}
          {found.length > MOST && <Combobox.Empty>{t('and {n} more: type to find them', { n: found.length - MOST })}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}

type ChoiceProps = { option: Option } & Pick<PickProps, 'chosen' | 'ahead'>

const Choice = ({ option: { code, label }, chosen, ahead }: ChoiceProps) => {
  const isChosen = chosen.includes(code)
  return (
    <Combobox.Option
      value={code}
      active={isChosen}
      className="pick-option"
      title={label.length > 34 ? label : undefined}
      onPointerDown={onPress(ahead && (() => ahead(code)))}
    >
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
