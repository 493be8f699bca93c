import { usePages } from '../../data/read.ts'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'

type Props = { label: string; ids: readonly string[]; onChange: (ids: string[]) => void; ordered: boolean; fault: string | undefined }

/** A list of products: one is added from those that there are, taken out, and moved where the order counts. */
export function ProductListField({ label, ids, onChange, ordered, fault }: Props) {
  const read = usePages('v4ListProducts', { query: { limit: 100 } })
  const known = read.data ?? []
  const move = (at: number, by: -1 | 1) => {
    const next = [...ids]
    const [one] = next.splice(at, 1)
    next.splice(at + by, 0, one!)
    onChange(next)
  }
  return (
    <fieldset className="catalogue-list">
      <legend>{label}</legend>
      {ids.length === 0 && <p className="soft">{t('None yet')}</p>}
      <ol className={ordered ? 'catalogue-chosen ordered' : 'catalogue-chosen'}>
        {ids.map((id, at) => (
          <li key={id}>
            <bdi title={id}>{id}</bdi>
            {ordered && (
              <>
                <Move name={t('Move {id} up', { id })} icon="up" off={at === 0} onClick={() => move(at, -1)} />
                <Move name={t('Move {id} down', { id })} icon="down" off={at === ids.length - 1} onClick={() => move(at, 1)} />
              </>
            )}
            <Move name={t('Take {id} out', { id })} icon="close" onClick={() => onChange(ids.filter(other => other !== id))} />
          </li>
        ))}
      </ol>
      {read.isError && <Fault error={read.error} retry={read.refetch} />}
      <div className="filters">
        <Pick
          name={t('Add a product')}
          text={t('Add a product')}
          icon="tag"
          dashed
          wide
          several
          // One beyond those that were read can be typed.
          free={read.hasNextPage}
          options={known.map(({ id }) => ({ code: id, label: id }))}
          chosen={ids}
          onPick={id => onChange(ids.includes(id) ? ids.filter(other => other !== id) : [...ids, id])}
        />
      </div>
      {fault && <p className="catalogue-fault">{fault}</p>}
    </fieldset>
  )
}

const Move = ({ name, icon, off, onClick }: { name: string; icon: 'up' | 'down' | 'close'; off?: boolean; onClick: () => void }) => (
  <button type="button" className="icon-button small" aria-label={name} title={name} disabled={off} onClick={onClick}>
    <Icon name={icon} size={14} />
  </button>
)
