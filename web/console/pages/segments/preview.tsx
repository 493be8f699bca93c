import { Button } from '@mantine/core'
import { Bars } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { counted, t } from '../../parts/t.ts'
import { People, Size } from './people.tsx'
import type { usePreview } from './use-preview.ts'

/** Who would be in it, while it is typed. `onLeaveOut`: takes ids that name nobody from the list. */
export function Preview({
  of: { read, isOld, isWhole },
  onLeaveOut,
}: {
  of: ReturnType<typeof usePreview>
  onLeaveOut: (ids: readonly string[]) => void
}) {
  const { data, error } = read
  const isRefused = error?.status === 400
  return (
    <section className="segment-preview" aria-label={t('Who would be in it')}>
      <h3>{t('Who would be in it now')}</h3>
      {isRefused && <p className="segment-note">{t('Something is not complete yet: see what stands in the form.')}</p>}
      {error && !isRefused && <Fault error={error} retry={read.refetch} />}
      {data === undefined && !error && isWhole && <Bars rows={5} />}
      {data === undefined && !isWhole && <p className="segment-note">{t('A condition has no value yet.')}</p>}
      {data && (
        <div className={isOld ? 'stale' : undefined} aria-busy={isOld || undefined}>
          <p className="segment-size-line" aria-live="polite">
            <Size of={data} />
          </p>
          {data.unknown_user_ids.length > 0 && (
            <div className="notice warn">
              <span>
                {counted(data.unknown_user_ids.length, '{n} id of the list names nobody here:', '{n} ids of the list name nobody here:')}{' '}
                <code className="segment-unknown">{data.unknown_user_ids.slice(0, 3).join(', ')}</code>
                {data.unknown_user_ids.length > 3 && '…'}
              </span>
              <Button size="compact-xs" variant="default" onClick={() => onLeaveOut(data.unknown_user_ids)}>
                {t('Leave them out')}
              </Button>
            </div>
          )}
          <People of={data} />
        </div>
      )}
    </section>
  )
}
