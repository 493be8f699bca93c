import './list-foot.css'
import { useAddress } from '../data/address.ts'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

type Listed = { data: { data: readonly unknown[]; has_more: boolean; next_cursor?: string | null } | undefined; isPlaceholderData: boolean }

/** Below the rows of a list whose cursor is `after` in the address: the rows after these, and the first ones again. */
export function ListFoot({ of: { data, isPlaceholderData } }: { of: Listed }) {
  const [{ after }, set] = useAddress()
  const next = data?.has_more ? data.next_cursor : undefined
  if (after === undefined && !next) return null
  return (
    <div className="list-foot">
      {after !== undefined && data?.data.length === 0 && <span className="soft">{t('Nothing is left on this page')}</span>}
      {after !== undefined && (
        <button type="button" className="chip" onClick={() => set({ after: undefined }, { push: true })}>
          <Icon name="prev" size={12} />
          {t('First page')}
        </button>
      )}
      {next && (
        <button type="button" className="chip" disabled={isPlaceholderData} onClick={() => set({ after: next }, { push: true })}>
          {t('Next page')}
          <Icon name="next" size={12} />
        </button>
      )}
    </div>
  )
}
