import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { AnalyticsLtv } from '../../../../clients/typescript/src/index.ts'
import type { Input } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { isoDay } from '../../data/range.ts'
import { useDenied } from '../../data/session.ts'
import { viewQuery } from '../../data/views.ts'
import { csv, ExportMenu } from '../../parts/export-menu.tsx'
import { Icon } from '../../parts/icon.tsx'
import { rangeText } from '../../parts/range-pick.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { type Question, ZONE } from './question.ts'

const SaveView = lazy(() => import('../../parts/save-view.tsx'))

type Props = { question: Question; answer: AnalyticsLtv | undefined; input: Input<'v4GetAnalyticsLtv'> }

export function Actions({ question: { query, range }, answer, input }: Props) {
  const [saving, setSaving] = useState(false)
  const denied = useDenied('editor', usePlace()?.project)
  const make = () => csvOf(answer!)
  return (
    <>
      <ShowTheCall name="v4GetAnalyticsLtv" input={input} />
      <ExportMenu downloads={answer ? [{ says: t('CSV'), file: `ltv-${isoDay(range.from, ZONE)}.csv`, make }] : []} />
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
              kind: 'ltv',
              query: viewQuery(query),
              range,
              name: t('Lifetime value, {range}', { range: rangeText(range, ZONE).toLowerCase() }),
            }}
            onClose={() => setSaving(false)}
          />
        )}
      </Suspense>
    </>
  )
}

/** A row for each value of the split, or one group without, and each point. */
function csvOf({ series, segments }: AnalyticsLtv): Blob {
  const groups = [{ label: '', series }, ...segments]
  return csv([
    ['value', 'until', 'complete', 'revenue', 'per user', 'per paying user'],
    ...groups.flatMap(group =>
      group.series.map(({ label, is_complete, revenue, arpu, arppu }) => [
        group.label,
        label,
        is_complete ? 'yes' : 'no',
        revenue,
        arpu,
        arppu,
      ]),
    ),
  ])
}
