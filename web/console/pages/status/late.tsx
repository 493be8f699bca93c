import { Card } from '../../parts/card.tsx'
import { count, span } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import type { Status } from './read.ts'

type Kind = Status['late'][number]

const COLUMNS: readonly Column<Kind>[] = [
  { key: 'kind', head: t('Kind'), cell: ({ kind }) => <code>{kind}</code> },
  { key: 'overdue', head: t('Overdue'), cell: ({ overdue }) => count(overdue), figures: true },
  {
    key: 'oldest',
    head: t('Oldest'),
    cell: ({ oldest_seconds }) => (oldest_seconds > 0 ? span(oldest_seconds * 1_000) : '–'),
    figures: true,
  },
  { key: 'abandoned', head: t('Abandoned'), cell: ({ abandoned }) => count(abandoned), figures: true, wideOnly: true },
  { key: 'unknown', head: t('Unknown'), cell: ({ unknown }) => count(unknown), figures: true, wideOnly: true },
]

/** Jobs that are due and that no worker holds. */
export const Late = ({ late }: { late: readonly Kind[] }) => (
  <Card title={t('Jobs that wait')} flush>
    {late.length === 0 ? (
      <p className="status-none">
        <StatusChip status="kept" label={t('none')} /> {t('Every job that is due is held by a worker.')}
      </p>
    ) : (
      <Table caption={t('Jobs that wait')} columns={COLUMNS} rows={late} rowKey={({ kind }) => kind} />
    )}
  </Card>
)
