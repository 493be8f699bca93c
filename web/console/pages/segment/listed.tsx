import type { Segment } from '../../../../clients/typescript/src/index.ts'
import { usePages } from '../../data/read.ts'
import { Id } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty } from '../../parts/empty.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { counted, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

/** Everybody on the list of the segment, whether the conditions are true of them or not. */
export default function Listed({ segment, onClose }: { segment: Segment; onClose: () => void }) {
  const input = { path: { segment_id: segment.id }, query: { limit: 100 } }
  const read = usePages('v4ListSegmentUsers', input)
  return (
    <Drawer title={counted(segment.listed ?? 0, '{n} person on the list', '{n} people on the list')} onClose={onClose}>
      <p className="segment-note">
        {t('Of these people, those for whom the conditions hold are in the segment. Whoever is erased leaves the list.')}
      </p>
      <DataState
        of={read}
        shape="table"
        isEmpty={rows => rows.length === 0}
        empty={
          <Empty
            icon="people"
            title={t('Nobody is on the list')}
            why={t('Everybody on it was erased, so the segment is one of nobody.')}
            action={<ShowTheCall name="v4ListSegmentUsers" input={input} />}
          />
        }
      >
        {rows => (
          <ul className="segment-listed" aria-label={t('People on the list')}>
            {rows.map(({ id }) => (
              <li key={id}>
                <To to={`/customers/${encodeURIComponent(id)}`} className="segment-person">
                  <Id>{id}</Id>
                </To>
              </li>
            ))}
          </ul>
        )}
      </DataState>
      {read.hasNextPage && (
        <button type="button" className="chip more" onClick={read.more} disabled={read.isFetchingNextPage}>
          {t('More people')}
        </button>
      )}
    </Drawer>
  )
}
