import './used-by.css'
import type { UsedBy as Uses } from '../../../clients/typescript/src/index.ts'
import { Icon, type IconName } from './icon.tsx'
import { StatusChip } from './status-chip.tsx'
import { counted, t } from './t.ts'
import { type Target, To } from './to.tsx'

export type Use = Uses[number]

const page =
  (path: string) =>
  (id: string): Target => ({ to: `${path}/${encodeURIComponent(id)}` })
const inCatalogue =
  (tab: string) =>
  (id: string): Target => ({ to: '/catalogue', search: { tab, at: `one.${id}` } })

const KINDS: Readonly<Record<string, { title: string; icon: IconName; of: (id: string) => Target; part?: string }>> = {
  entitlement: { title: 'Entitlements', icon: 'key', of: inCatalogue('entitlements') },
  offering: { title: 'Offerings', icon: 'tag', of: inCatalogue('offerings') },
  experiment: { title: 'Experiments', icon: 'flask', of: page('/experiments'), part: 'group' },
  automation: { title: 'Automations', icon: 'flow', of: page('/automations'), part: 'step' },
  segment: { title: 'Segments', icon: 'people', of: page('/segments') },
  remote_configuration: { title: 'Configurations', icon: 'sliders', of: page('/configurations'), part: 'key' },
  screen: { title: 'Screens', icon: 'eye', of: page('/screens') },
}
const OTHER = { title: 'Other', icon: 'link' as const, of: undefined, part: undefined }
const kindOf = (object: string) => (Object.hasOwn(KINDS, object) ? KINDS[object]! : OTHER)

/** What names an object, by kind, each a link; what prevents its deletion says so. */
export function UsedBy({ uses, more, none }: { uses: readonly Use[]; more: boolean; none: string }) {
  if (uses.length === 0 && !more) return <p className="soft used-by-none">{none}</p>
  const kinds = [...new Set(uses.map(({ object }) => object))]
  return (
    <>
      {kinds.map(object => (
        <div key={object} className="used-by">
          <p className="used-by-kind">
            <Icon name={kindOf(object).icon} size={14} />
            {t(kindOf(object).title)}
          </p>
          <ul aria-label={t(kindOf(object).title)}>
            {uses
              .filter(use => use.object === object)
              .map(use => (
                <li key={use.id}>
                  <Line of={use} />
                </li>
              ))}
          </ul>
        </div>
      ))}
      {more && <p className="soft used-by-none">{t('There is more than is listed here.')}</p>}
    </>
  )
}

function Line({ of: { object, id, name, status, parts, prevents_deletion } }: { of: Use }) {
  const { of: target, part } = kindOf(object)
  // What apps ask for is its id; its name is a description.
  const isById = object === 'entitlement'
  const shown = isById ? id : name || id
  const text = (
    <bdi className="used-by-name" title={shown}>
      {shown}
    </bdi>
  )
  return (
    <>
      <span className="used-by-head">
        {target ? (
          <To {...target(id)} className="link">
            {text}
          </To>
        ) : (
          text
        )}
        {status !== null && <StatusChip status={status} {...(status === 'main' && { tone: 'good' as const, label: t('Main') })} />}
      </span>
      {isById && name && <bdi className="used-by-parts">{name}</bdi>}
      {parts.length > 0 && (
        <span className="used-by-parts">
          {part !== undefined && `${counted(parts.length, PARTS[part]![0], PARTS[part]![1])} `}
          {parts.map((one, at) => (
            <bdi key={one.id} title={one.name ?? one.id}>
              {one.name || one.id}
              {at < parts.length - 1 && ', '}
            </bdi>
          ))}
        </span>
      )}
      {prevents_deletion && <span className="used-by-holds">{t('prevents the deletion')}</span>}
    </>
  )
}

const PARTS: Readonly<Record<string, readonly [string, string]>> = {
  group: ['group', 'groups'],
  step: ['step', 'steps'],
  key: ['key', 'keys'],
}
