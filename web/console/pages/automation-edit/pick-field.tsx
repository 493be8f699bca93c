import { useState } from 'react'
import { useRead } from '../../data/read.ts'
import { type Option, Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import { useEventNames } from '../automation/use-names.ts'
import { FieldFault } from './faults.tsx'

/** A field that is chosen from a list, with its label above and its fault below. */
function PickField({
  label,
  text,
  options,
  chosen,
  path,
  onPick,
  onOpen,
  several,
  free,
  reading,
}: {
  label: string
  text: string
  options: readonly Option[]
  chosen: readonly string[]
  path: string
  onPick: (code: string) => void
  onOpen?: () => void
  several?: boolean
  free?: boolean
  reading?: boolean
}) {
  return (
    <div className="pick-field" data-path={path}>
      <p className="form-label">{label}</p>
      <Pick
        name={label}
        text={text}
        options={options}
        chosen={chosen}
        onPick={onPick}
        wide
        {...(onOpen && { onOpen })}
        {...(several && { several })}
        {...(free && { free })}
        {...(reading && { reading })}
      />
      <FieldFault path={path} />
    </div>
  )
}

type Kind = 'screen' | 'push' | 'entitlement' | 'integration' | 'segment'
const LIMIT = { query: { limit: 100 } }

/** What of the project can be named there. Its list is read when it is opened, or when something is named. */
function useNamed(kind: Kind, when: boolean): { options: Option[]; reading: boolean } {
  const screens = useRead('v4ListScreens', LIMIT, { when: when && kind === 'screen' })
  const pushes = useRead('v4ListPushes', LIMIT, { when: when && kind === 'push' })
  const entitlements = useRead('v4ListEntitlements', LIMIT, { when: when && kind === 'entitlement' })
  const integrations = useRead('v4ListIntegrations', {}, { when: when && kind === 'integration' })
  const segments = useRead('v4ListSegments', LIMIT, { when: when && kind === 'segment' })
  const reading = [screens, pushes, entitlements, integrations, segments].some(read => read.isLoading)
  switch (kind) {
    case 'screen':
      return { reading, options: named(screens.data?.data) }
    case 'push':
      return { reading, options: named(pushes.data?.data) }
    case 'segment':
      return { reading, options: named(segments.data?.data) }
    case 'entitlement':
      return { reading, options: (entitlements.data?.data ?? []).map(({ id }) => ({ code: id, label: id })) }
    case 'integration': {
      const webhooks = (integrations.data?.data ?? []).filter(({ integration }) => /webhook/i.test(integration))
      return { reading, options: webhooks.map(({ id, title }) => ({ code: id, label: title })) }
    }
    default:
      return kind satisfies never
  }
}
const named = (data: readonly { id: string; name: string }[] | undefined): Option[] =>
  (data ?? []).map(({ id, name }) => ({ code: id, label: name }))

/** A thing of the project by its name. An id may be typed, too. */
export function NamedField({
  kind,
  label,
  value,
  path,
  none,
  onPick,
}: {
  kind: Kind
  label: string
  value: string | null | undefined
  path: string
  /** It may be none, which is called so. */
  none?: string
  onPick: (id: string) => void
}) {
  const [opened, setOpened] = useState(false)
  const { options, reading } = useNamed(kind, opened || Boolean(value))
  const text = value ? (options.find(({ code }) => code === value)?.label ?? value) : (none ?? t('Choose'))
  return (
    <PickField
      label={label}
      text={text}
      options={none === undefined ? options : [{ code: '', label: none }, ...options]}
      chosen={[value ?? '']}
      path={path}
      free
      reading={reading}
      onPick={onPick}
      onOpen={() => setOpened(true)}
    />
  )
}

/** Events by their names; one's own may be typed. */
export function EventsField({
  label,
  chosen,
  path,
  onChange,
}: {
  label: string
  chosen: readonly string[]
  path: string
  onChange: (names: string[]) => void
}) {
  const { data, isLoading } = useRead('v4ListEventCatalogue', {})
  const nameOf = useEventNames()
  const types = data?.data ?? []
  const slugOf = (uid: string) => types.find(type => type.uid === uid)?.event_name ?? uid
  const options = types.map(({ event_name }) => ({ code: event_name, label: nameOf(event_name) }))
  const slugs = chosen.map(slugOf)
  return (
    <PickField
      label={label}
      text={slugs.map(nameOf).join(', ') || t('Choose')}
      options={options}
      chosen={slugs}
      path={path}
      several
      free
      reading={isLoading}
      onPick={slug => onChange(slugs.includes(slug) ? chosen.filter(uid => slugOf(uid) !== slug) : [...chosen, slug])}
    />
  )
}
