import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { isoDay } from '../../data/range.ts'
import { useDenied } from '../../data/session.ts'
import { viewQuery } from '../../data/views.ts'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { METRIC_TEXTS, type Row } from './cells.ts'
import { type Question, ZONE } from './question.ts'

const SaveView = lazy(() => import('../../parts/save-view.tsx'))

type Props = { question: Question; rows: readonly Row[]; labels: readonly string[]; input: Input<'v4GetAnalyticsCohorts'> }

export function Actions({ question, rows, labels, input }: Props) {
  const [saving, setSaving] = useState(false)
  const denied = useDenied('editor', usePlace()?.project)
  const { metric, query, range } = question
  const make = () =>
    csv([
      ['cohort', 'users', ...labels],
      ...rows.map(({ label, users, cells }) => [label, users, ...labels.map((_, at) => cells[at]?.value)]),
    ])
  return (
    <>
      <ShowTheCall name="v4GetAnalyticsCohorts" input={input} />
      <ExportMenu downloads={[{ says: t('CSV, as shown'), file: `cohorts-${metric}-${isoDay(range.from, ZONE)}.csv`, make }]} />
      <Button
        size="xs"
        variant="default"
        leftSection={<Icon name="pin" size={14} />}
        disabled={denied !== undefined}
        title={denied}
        onClick={() => setSaving(true)}
      >
        {t('Save view')}
      </Button>
      <Suspense fallback={null}>
        {saving && (
          <SaveView
            asked={{
              kind: 'cohorts',
              query: viewQuery(query),
              range,
              name: t('Cohorts, {figure}', { figure: METRIC_TEXTS[metric].toLowerCase() }),
            }}
            onClose={() => setSaving(false)}
          />
        )}
      </Suspense>
    </>
  )
}
