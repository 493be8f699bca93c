import './uses.css'
import { StatusChip } from './status-chip.tsx'
import { plain, t } from './t.ts'
import { To } from './to.tsx'

/** What names an object; `name` is null where the role does not see it. */
export type Use = { object: string; id: string; name: string | null; status?: string | null; prevents_deletion?: boolean }

const PAGES: Readonly<Record<string, (id: string) => { to: string; search?: Record<string, string> }>> = {
  experiment: id => ({ to: `/experiments/${encodeURIComponent(id)}` }),
  remote_configuration: id => ({ to: `/configurations/${encodeURIComponent(id)}` }),
  automation: id => ({ to: `/automations/${encodeURIComponent(id)}` }),
  screen: id => ({ to: `/screens/${encodeURIComponent(id)}` }),
  push: id => ({ to: '/pushes', search: { at: id } }),
}

/** What uses an object, each with its status and the way to it. `more`: not all of it is listed. */
export const Uses = ({ of, more = false }: { of: readonly Use[]; more?: boolean }) => (
  <>
    <ul className="uses">
      {of.map(use => (
        <li key={`${use.object} ${use.id}`}>
          <UseName of={use} />
          {use.status && <StatusChip status={use.status} />}
        </li>
      ))}
    </ul>
    {more && <p className="soft">{t('There is more than is listed here.')}</p>}
  </>
)

export function UseName({ of: { object, id, name } }: { of: Use }) {
  const text = name ?? id
  const target = Object.hasOwn(PAGES, object) ? PAGES[object]!(id) : undefined
  if (target)
    return (
      <To {...target} className="link uses-name">
        <bdi title={text}>{text}</bdi>
      </To>
    )
  return (
    <span className="uses-name" title={text}>
      {t('{kind}: ', { kind: plain(object) })}
      <bdi>{text}</bdi>
    </span>
  )
}
