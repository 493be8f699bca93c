import type { AnalyticsView, AnalyticsViewInput } from '../../../../clients/typescript/src/index.ts'
import { textOfRange } from '../../data/calendar.ts'
import { titleOfChart } from '../../data/charts.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied, usePreferences } from '../../data/session.ts'
import { presetOf, targetOf } from '../../data/views.ts'
import { useWrite } from '../../data/write.ts'
import { Fault } from '../../parts/fault.tsx'
import { bucket } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { plain, t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'
import { say, sayWithUndo } from '../../parts/undo.tsx'

const rangeText = ({ range }: AnalyticsView, zone: string): string =>
  typeof range === 'string'
    ? t(textOfRange(presetOf(range)) ?? plain(range))
    : `${bucket(range.from, 'day', zone)} – ${bucket(range.to - 1, 'day', zone)}`

/** What was saved: a question with a name. The pinned ones first. */
export function Views() {
  const read = useRead('v4ListAnalyticsViews', { query: { limit: 100 } })
  const { zone } = usePreferences()
  const denied = useDenied('editor', usePlace()?.project)
  const changes = ['v4ListAnalyticsViews'] as const
  const { send: remove } = useWrite('v4DeleteAnalyticsView', { changes })
  const { send: create } = useWrite('v4CreateAnalyticsView', { changes })
  if (read.isError) return <Fault error={read.error} retry={read.refetch} />
  const views = (read.data?.data ?? []).toSorted((a, b) => Number(b.pinned) - Number(a.pinned))
  if (views.length === 0) return null
  const take = async ({ id, name, kind, code, query, range, pinned }: AnalyticsView) => {
    await remove({ path: { view_id: id } })
    const body = { name, kind, ...(code && { code }), query, range, pinned } as AnalyticsViewInput
    sayWithUndo(t('{name} is deleted', { name }), () => create({ body }))
  }
  return (
    <section aria-label={t('Saved views')}>
      <h2 className="group-title">{t('Saved views')}</h2>
      <ul className="views">
        {views.map(view => (
          <li key={view.id} className="view">
            <To {...targetOf(view)} className="view-link">
              <Icon name={view.pinned ? 'pin' : view.kind === 'cohorts' ? 'grid' : view.kind === 'ltv' ? 'coins' : 'chart'} size={14} />
              <span className="view-name" title={view.name}>
                {view.name}
              </span>
              <span className="view-more">
                {[view.code ? titleOfChart(view.code) : plain(view.kind), rangeText(view, zone)].join(' · ')}
              </span>
            </To>
            {!denied && (
              <button
                type="button"
                className="icon-button small"
                aria-label={t('Delete {name}', { name: view.name })}
                onClick={() => void take(view).catch((error: Error) => say(error.message))}
              >
                <Icon name="close" size={12} />
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
