import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import type { Tab } from './index.tsx'

/** Ids of the catalogue as links to their drawers, the first ones of many. */
export function Names({ ids, tab, none, most = 4 }: { ids: readonly string[]; tab: Tab; none: string; most?: number }) {
  if (ids.length === 0) return <span className="faint">{none}</span>
  const rest = ids.slice(most)
  return (
    <span className="catalogue-names">
      {ids.slice(0, most).map(id => (
        <To key={id} to="/catalogue" search={{ tab: tab === 'products' ? undefined : tab, at: `one.${id}` }} className="catalogue-id">
          <bdi title={id}>{id}</bdi>
        </To>
      ))}
      {rest.length > 0 && (
        <span className="soft nowrap" title={rest.slice(0, 40).join(', ')}>
          {t('and {n} more', { n: rest.length })}
        </span>
      )}
    </span>
  )
}
