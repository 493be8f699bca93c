import { Checkbox } from '@mantine/core'
import { useRead } from '../../data/read.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import type { Fields } from './form-fields.tsx'

/** Where to: integrations that take files. */
export function WhereTo({ draft, change, faultOf }: Fields) {
  const read = useRead('v4ListScheduledReportDestinations')
  const toggle = (id: string, on: boolean) =>
    change({ destinations: on ? [...draft.destinations, id] : draft.destinations.filter(one => one !== id) })
  return (
    <fieldset className="form-part">
      <legend>{t('Where to')}</legend>
      <DataState
        of={read}
        rows={2}
        isEmpty={({ data }) => data.length === 0}
        empty={
          <p className="notice">
            <Icon name="plug" size={15} />
            {t(
              'No integration takes files yet. Make one of webhooks, Slack, e-mail, Amazon S3 or Google Cloud Storage; then it stands here.',
            )}
          </p>
        }
      >
        {({ data }) => (
          <div className="form-checks">
            {data.map(({ id, label }) => (
              <Checkbox
                key={id}
                size="xs"
                label={<bdi>{label}</bdi>}
                checked={draft.destinations.includes(id)}
                onChange={({ currentTarget }) => toggle(id, currentTarget.checked)}
              />
            ))}
          </div>
        )}
      </DataState>
      {faultOf('destinations') && <p className="form-fault">{faultOf('destinations')}</p>}
    </fieldset>
  )
}
