import { bytes } from '../../parts/bytes.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import type { Status } from './read.ts'

/** The process that answers, the database and the disk. */
export const Machine = ({ status: { version, process, database, disk } }: { status: Status }) => (
  <Card title={t('Version, database, disk')}>
    <Pairs
      rows={[
        [t('Version'), version],
        [t('This process'), process.runtime],
        [t('Started'), <Time key="started" at={process.started_at} relative real />],
        [t('Its memory'), bytes(process.memory_bytes)],
        [
          t('Database'),
          <span key="database" className="status-value">
            {t('Postgres {version}', { version: database.version })}
            {database.state === 'ready' ? (
              <StatusChip status="active" label={t('ready')} />
            ) : (
              <StatusChip status="held" label={t('slow')} />
            )}
          </span>,
        ],
        [t('Its size'), bytes(database.bytes)],
        [t('Newest migration'), String(database.migration)],
        [t('Free on the disk of the data'), disk === null ? undefined : <Disk key="disk" {...disk} />],
      ]}
    />
  </Card>
)

const Disk = ({ bytes: all, free_bytes }: { bytes: number; free_bytes: number }) => (
  <span className="status-value">
    {t('{free} of {all}', { free: bytes(free_bytes), all: bytes(all) })}
    <meter min={0} max={all} value={all - free_bytes} high={all * 0.9} aria-label={t('Used of the disk')} />
  </span>
)
