import { Card } from '../../parts/card.tsx'
import { Copy, Id } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { count } from '../../parts/format.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import type { Status } from './read.ts'

type Worker = Status['workers'][number]

const COLUMNS: readonly Column<Worker>[] = [
  { key: 'id', head: t('Process'), cell: ({ id }) => <Id>{id}</Id> },
  {
    key: 'state',
    head: t('State'),
    cell: ({ is_alive }) =>
      is_alive ? <StatusChip status="active" label={t('alive')} /> : <StatusChip status="gone" label={t('not seen')} />,
  },
  { key: 'kinds', head: t('Kinds of jobs'), cell: ({ kinds }) => count(kinds), figures: true, wideOnly: true },
  { key: 'seen', head: t('Seen'), cell: ({ seen_at }) => <Time at={seen_at} relative real /> },
]

export const Workers = ({ workers }: { workers: readonly Worker[] }) => (
  <Card title={t('Processes that execute jobs')} flush>
    {workers.length === 0 ? (
      <Empty
        icon="pulse"
        title={t('No worker')}
        why={t('Nothing that is due is executed until one runs.')}
        action={<Copy text="ROLE=worker npm start" />}
      />
    ) : (
      <Table caption={t('Workers')} columns={COLUMNS} rows={workers} rowKey={({ id }) => id} />
    )}
  </Card>
)
