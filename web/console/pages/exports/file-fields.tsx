import { Checkbox } from '@mantine/core'
import { usePages } from '../../data/read.ts'
import { Choice } from '../../parts/choice.tsx'
import { Pick } from '../../parts/pick.tsx'
import { t } from '../../parts/t.ts'
import type { Draft } from './draft.ts'

type Fields = { draft: Draft; change: (change: Partial<Draft>) => void; faultOf: (field: string) => string | undefined }

const Row = ({ label, fault, children }: { label: string; fault?: string | undefined; children: React.ReactNode }) => (
  <div>
    <p className="form-label">{label}</p>
    {children}
    {fault && <p className="export-fault">{fault}</p>}
  </div>
)

/** The form of the file. */
export function FileFields({ draft, change, faultOf, takesColumns }: Fields & { takesColumns: boolean }) {
  return (
    <>
      <Row label={t('Format')} fault={faultOf('format')}>
        <Choice
          name={t('Format')}
          value={draft.format}
          options={[
            ['csv', 'CSV'],
            ['json', 'JSON'],
            ['ndjson', 'NDJSON'],
            ['parquet', 'Parquet'],
          ]}
          onChange={format => change({ format })}
        />
      </Row>
      {draft.format !== 'parquet' && (
        <Row label={t('Compression')} fault={faultOf('compression')}>
          <Choice
            name={t('Compression')}
            value={draft.compression}
            options={[
              ['none', 'None'],
              ['gzip', 'gzip'],
            ]}
            onChange={compression => change({ compression })}
          />
        </Row>
      )}
      <div className="export-checks">
        {takesColumns &&
          (['event_id', 'properties'] as const).map(column => (
            <Checkbox
              key={column}
              size="xs"
              label={column === 'event_id' ? t('With the ids of events') : t('With their custom properties')}
              checked={draft.include.includes(column)}
              onChange={({ currentTarget }) =>
                change({ include: currentTarget.checked ? [...draft.include, column] : draft.include.filter(one => one !== column) })
              }
            />
          ))}
        {draft.format === 'csv' && (
          <Checkbox
            size="xs"
            label={t('For a spreadsheet: no text begins a formula')}
            checked={draft.formula_guard}
            onChange={({ currentTarget }) => change({ formula_guard: currentTarget.checked })}
          />
        )}
      </div>
    </>
  )
}

/** Whose rows. */
export function Who({ draft, change, faultOf, takesSegment }: Fields & { takesSegment: boolean }) {
  const segments = usePages('v4ListSegments', { query: { limit: 100 } })
  const chosen = segments.data?.find(({ id }) => id === draft.segment_id)
  return (
    <>
      <Row label={t('Platform')} fault={faultOf('platform')}>
        <Choice
          name={t('Platform')}
          value={draft.platform ?? 'all'}
          options={[
            ['all', 'All'],
            ['iOS', 'iOS'],
            ['Android', 'Android'],
            ['Stripe', 'Stripe, Paddle'],
          ]}
          onChange={platform => change({ platform: platform === 'all' ? null : platform })}
        />
      </Row>
      {takesSegment && (
        <Row label={t('Segment')} fault={faultOf('segment_id')}>
          <Pick
            name={t('Segment')}
            icon="people"
            text={draft.segment_id === null ? t('Everybody') : (chosen?.name ?? draft.segment_id)}
            options={[{ code: '', label: t('Everybody') }, ...(segments.data ?? []).map(({ id, name }) => ({ code: id, label: name }))]}
            chosen={[draft.segment_id ?? '']}
            onPick={id => change({ segment_id: id || null })}
          />
        </Row>
      )}
    </>
  )
}
