import { useState } from 'react'
import type { AnalyticsFilterCondition } from '../../../clients/typescript/src/index.ts'
import { joined, type Search, split, useAddress, useAhead } from '../data/address.ts'
import { Icon } from './icon.tsx'
import { onPress } from './on-press.ts'
import { Pick } from './pick.tsx'
import { plain, t } from './t.ts'

const PREFIX = 'f.'

/** The filters of the address by these attributes, as the operation takes them. The others have no effect here. */
export const filterQuery = (search: Search, attributes: readonly string[]): Record<string, string[]> =>
  Object.fromEntries(
    namesOf(search).flatMap(name => (attributes.includes(name) ? [[`filter[${name}][]`, split(search[PREFIX + name])]] : [])),
  )

export const hasFilters = (search: Search): boolean => namesOf(search).length > 0

const namesOf = (search: Search) =>
  Object.keys(search).flatMap(name => (name.startsWith(PREFIX) && search[name] ? [name.slice(PREFIX.length)] : []))

type Conditions = readonly AnalyticsFilterCondition[] | undefined

/** The filters of the address. */
export function Filters({ conditions }: { conditions: Conditions }) {
  const [search, set] = useAddress()
  const ahead = useAhead()
  const changeOf = (name: string, values: readonly string[]): Search => ({ [PREFIX + name]: joined(values), at: undefined })
  return (
    <FilterChips
      conditions={conditions}
      given={Object.fromEntries(namesOf(search).map(name => [name, split(search[PREFIX + name])]))}
      onChange={(name, values) => set(changeOf(name, values))}
      ahead={(name, values) => ahead(changeOf(name, values))}
    />
  )
}

/** A chip for each filter that is given, by attribute, and one to add another. */
export function FilterChips({
  conditions,
  given,
  onChange,
  ahead,
}: {
  conditions: Conditions
  given: Readonly<Record<string, string[]>>
  onChange: (name: string, values: readonly string[]) => void
  /** Is called as the change is pressed. */
  ahead?: (name: string, values: readonly string[]) => void
}) {
  /** Just added: its values are to be chosen. */
  const [added, setAdded] = useState<string>()
  const names = Object.keys(given)
  const shown = added !== undefined && !names.includes(added) ? [...names, added] : names
  const free = (conditions ?? []).filter(({ attribute }) => !shown.includes(attribute))
  return (
    <>
      {shown.map(name => (
        <Filter
          key={name}
          name={name}
          condition={conditions?.find(({ attribute }) => attribute === name)}
          known={conditions !== undefined}
          values={given[name] ?? []}
          opensAtOnce={name === added}
          onChange={values => onChange(name, values)}
          ahead={values => ahead?.(name, values)}
          onClose={() => setAdded(undefined)}
        />
      ))}
      {(conditions === undefined || free.length > 0) && (
        <Pick
          name={t('Filter')}
          text={t('Filter')}
          icon="sliders"
          dashed
          isFilter
          options={free.map(({ attribute, label }) => ({ code: attribute, label }))}
          chosen={[]}
          onPick={setAdded}
        />
      )}
    </>
  )
}

function Filter({
  name,
  condition,
  known,
  values,
  opensAtOnce,
  onChange,
  ahead,
  onClose,
}: {
  name: string
  condition: AnalyticsFilterCondition | undefined
  known: boolean
  values: string[]
  opensAtOnce: boolean
  onChange: (values: string[]) => void
  ahead: (values: string[]) => void
  onClose: () => void
}) {
  const label = condition?.label ?? plain(name)
  const labelOf = (code: string) => condition?.values?.find(value => value.code === code)?.label ?? code
  if (known && condition === undefined)
    return (
      <span className="chip without-effect" title={t('What is shown here does not have this attribute')}>
        <span className="chip-text">{t('{label}: no effect here', { label })}</span>
        <Remove label={label} onClick={() => onChange([])} />
      </span>
    )
  const toggled = (code: string) => (values.includes(code) ? values.filter(value => value !== code) : [...values, code])
  const unlisted = values.filter(code => !condition?.values?.some(value => value.code === code))
  return (
    <span className="filter">
      <Pick
        name={label}
        text={values.length === 0 ? label : `${label}: ${values.map(labelOf).join(', ')}`}
        on
        several={condition?.multiple ?? true}
        free={condition?.type === 'text'}
        options={[...unlisted.map(code => ({ code, label: code })), ...(condition?.values ?? [])]}
        chosen={values}
        onPick={code => onChange(toggled(code))}
        ahead={code => ahead(toggled(code))}
        opensAtOnce={opensAtOnce}
        onClose={onClose}
      />
      <Remove label={label} onClick={() => onChange([])} ahead={() => ahead([])} />
    </span>
  )
}

const Remove = ({ label, onClick, ahead }: { label: string; onClick: () => void; ahead?: () => void }) => (
  <button
    type="button"
    className="icon-button small"
    aria-label={t('Remove the filter {label}', { label })}
    onClick={onClick}
    onPointerDown={onPress(ahead)}
  >
    <Icon name="close" size={12} />
  </button>
)
