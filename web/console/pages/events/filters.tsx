import { memo } from 'react'
import { useAddress } from '../../data/address.ts'
import { shortId } from '../../parts/copy.tsx'
import { PersonFilter } from '../../parts/person-filter.tsx'
import { SpanPick } from '../../parts/span-pick.tsx'
import { plain, t } from '../../parts/t.ts'
import { Taken } from '../../parts/taken.tsx'
import { isFiltered, namesOf } from './query.ts'

/** Which part of the log: whose events, of which time, of which names. Names are chosen in the catalogue. */
export const Filters = memo(() => {
  const [search, set] = useAddress()
  const names = namesOf(search)
  const without = (name: string) => names.filter(other => other !== name).join(',') || undefined
  return (
    <div className="filters">
      <PersonFilter name={t('Only events of a person')} onFind={id => set({ 'f.customer': id, after: undefined })} />
      <SpanPick name={t('When it happened')} />
      {search['f.customer'] && (
        <Taken
          label={t('of {id}', { id: shortId(search['f.customer']) })}
          onTake={() => set({ 'f.customer': undefined, after: undefined })}
        />
      )}
      {names.map(name => (
        <Taken key={name} label={plain(name)} onTake={() => set({ 'f.name': without(name), after: undefined })} />
      ))}
      {isFiltered(search) && (
        <button type="button" className="chip dashed" onClick={() => set(NONE)}>
          {t('Clear the filters')}
        </button>
      )}
    </div>
  )
})

const NONE = { 'f.name': undefined, 'f.customer': undefined, range: undefined, from: undefined, to: undefined, after: undefined }
