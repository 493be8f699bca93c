import './used-by.css'
import { Fragment } from 'react'
import type { UsedBy as Found } from '../../../clients/typescript/src/index.ts'
import { shortId } from './copy.tsx'
import { Icon, type IconName } from './icon.tsx'
import { StatusChip } from './status-chip.tsx'
import { counted, t } from './t.ts'
import { type Target, To } from './to.tsx'

type Use = Found[number]
/** What an answer says of those that name an object. */
export type Uses = { used_by?: Found; used_by_has_more?: boolean }

const page =
  (path: string) =>
  (id: string): Target => ({ to: `${path}/${encodeURIComponent(id)}` })
const inCatalogue =
  (tab: string) =>
  (id: string): Target => ({ to: '/catalogue', search: { tab, at: `one.${id}` } })

type Kind = {
  title: string
  icon: IconName
  of?: (id: string) => Target
  part?: keyof typeof PARTS
  /** What people know of it is its id. Of any other kind, no name means that the role does not see it. */
  isById?: true
}

const KINDS: Readonly<Record<string, Kind>> = {
  entitlement: { title: 'Entitlements', icon: 'key', of: inCatalogue('entitlements'), isById: true },
  offering: { title: 'Offerings', icon: 'tag', of: inCatalogue('offerings'), isById: true },
  experiment: { title: 'Experiments', icon: 'versus', of: page('/experiments'), part: 'group' },
  automation: { title: 'Automations', icon: 'flow', of: page('/automations'), part: 'step' },
  segment: { title: 'Segments', icon: 'segment', of: page('/segments') },
  remote_configuration: { title: 'Configurations', icon: 'knobs', of: page('/configurations'), part: 'key' },
  screen: { title: 'Screens', icon: 'screen', of: page('/screens') },
  export: { title: 'Exports', icon: 'file', of: id => ({ to: '/exports', search: { at: id } }), isById: true },
  analytics_view: { title: 'Saved views', icon: 'pin', of: () => ({ to: '/charts' }) },
}
const OTHER: Kind = { title: 'Other', icon: 'link', isById: true }
const kindOf = (object: string): Kind => (Object.hasOwn(KINDS, object) ? KINDS[object]! : OTHER)

const PARTS = {
  group: ['group', 'groups'],
  step: ['step', 'steps'],
  key: ['key', 'keys'],
} as const

/** Those of them that prevent the deletion. */
const preventing = ({ used_by = [] }: Uses): Use[] => used_by.filter(use => use.prevents_deletion)
export const isHeld = (of: Uses): boolean => preventing(of).length > 0

/** What names an object, by kind, each a link; what prevents its deletion says so. */
export function UsedBy({ of, none }: { of: Uses; none: string }) {
  const { used_by = [], used_by_has_more: more = false } = of
  if (used_by.length === 0 && !more) return <p className="soft used-by-none">{none}</p>
  return (
    <>
      <Kinds of={used_by} />
      {more && <p className="soft used-by-none">{t('There is more than is listed here.')}</p>}
    </>
  )
}

/** What of that prevents the deletion; nothing where nothing does. */
export function HeldBy({ of }: { of: Uses }) {
  const holding = preventing(of)
  if (holding.length === 0) return null
  return (
    <section aria-label={t('What keeps it')}>
      <p className="form-label">{t('Stop or change this first')}</p>
      <Kinds of={holding} />
      {of.used_by_has_more && <p className="soft used-by-none">{t('There may be more than is listed here.')}</p>}
    </section>
  )
}

const Kinds = ({ of }: { of: readonly Use[] }) =>
  [...Map.groupBy(of, ({ object }) => object)].map(([object, uses]) => (
    <div key={object} className="used-by">
      <p className="used-by-kind">
        <Icon name={kindOf(object).icon} size={14} />
        {t(kindOf(object).title)}
      </p>
      <ul aria-label={t(kindOf(object).title)}>
        {uses.map(use => (
          <li key={use.id}>
            <Line of={use} />
          </li>
        ))}
      </ul>
    </div>
  ))

/** The first that names an object, which is the one that says most, and how many more: for a row of a table. */
export function FirstUse({ of: { used_by = [], used_by_has_more }, none }: { of: Uses; none: string }) {
  const [first] = used_by
  const others = used_by.length - 1
  if (first === undefined) return <span className="faint">{none}</span>
  return (
    <span className="used-by-first">
      <UseName of={first} />
      {first.status !== null && <StatusChip status={first.status} />}
      {others > 0 && <span className="soft">{t('and {n} more', { n: used_by_has_more ? `${others}+` : others })}</span>}
    </span>
  )
}

/** The name of an object of any kind, as a link to its page. */
export function UseName({ of: { object, id, name } }: { of: Pick<Use, 'object' | 'id' | 'name'> }) {
  const { of: target, isById } = kindOf(object)
  const text =
    isById || name ? (
      <bdi className="used-by-name" title={isById ? id : name!}>
        {isById ? id : name}
      </bdi>
    ) : (
      <span className="used-by-name" title={id}>
        {t('hidden')} <span className="used-by-id">{shortId(id)}</span>
      </span>
    )
  return target ? (
    <To {...target(id)} className="link">
      {text}
    </To>
  ) : (
    text
  )
}

function Line({ of: use }: { of: Use }) {
  const { object, name, status, parts, prevents_deletion } = use
  const { part, isById } = kindOf(object)
  return (
    <>
      <span className="used-by-head">
        <UseName of={use} />
        {status !== null && <StatusChip status={status} {...(status === 'main' && { tone: 'good' as const, label: t('Main') })} />}
      </span>
      {isById && name && <bdi className="used-by-parts">{name}</bdi>}
      {parts.length > 0 && (
        <span className="used-by-parts">
          {part !== undefined && `${counted(parts.length, PARTS[part][0], PARTS[part][1])} `}
          {parts.map((one, at) => (
            <Fragment key={one.id}>
              <bdi title={one.name ?? one.id}>{one.name || one.id}</bdi>
              {at < parts.length - 1 && ', '}
            </Fragment>
          ))}
        </span>
      )}
      {prevents_deletion && <span className="used-by-holds">{t('prevents the deletion')}</span>}
    </>
  )
}
