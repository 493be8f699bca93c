import { useAddress } from '../../data/address.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { ON_PAGE } from './query.ts'

/** Pages by cursor: the next one, *Back* of the browser for the one before, and the first one. */
export function Pager({ next, waits }: { next: string | undefined; waits: boolean }) {
  const [{ cursor }, set] = useAddress()
  if (next === undefined && cursor === undefined) return null
  const go = (to: string | undefined) => {
    set({ cursor: to }, { push: true })
    scrollTo({ top: 0 })
  }
  return (
    <nav className="filters customers-pager" aria-label={t('Pages')}>
      {cursor !== undefined && (
        <button type="button" className="chip" onClick={() => go(undefined)}>
          <Icon name="prev" size={12} />
          {t('First page')}
        </button>
      )}
      {next !== undefined && (
        <button type="button" className="chip" disabled={waits} onClick={() => go(next)}>
          {t('Next {n}', { n: ON_PAGE })}
          <Icon name="next" size={12} />
        </button>
      )}
    </nav>
  )
}
