import './status.css'
import { useSession } from '../../data/session.ts'
import { DataState } from '../../parts/data-state.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Page } from '../../parts/page.tsx'
import { counted, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { Consumers } from './consumers.tsx'
import { Figures } from './figures.tsx'
import { Late } from './late.tsx'
import { Machine } from './machine.tsx'
import { type Status as Answer, useStatus } from './read.ts'
import { Workers } from './workers.tsx'

/** How the installation is, of all projects: what runs, what is late, what was set aside, and what to do about it. */
export default function Status() {
  const { data: session } = useSession()
  const isOwner = session?.operator.is_owner === true
  const read = useStatus(isOwner)
  return (
    <Page
      wide
      title={t('Status')}
      about={t('The whole installation, of all projects')}
      actions={
        read.dataUpdatedAt > 0 && (
          <span className={read.isError ? 'fresh late' : 'fresh'}>
            <i aria-hidden="true" />
            {t('read')} <Time at={Math.floor(read.dataUpdatedAt / 1000)} relative real />
          </span>
        )
      }
    >
      {session !== undefined && !isOwner ? (
        <Empty icon="shield" title={t('This is for owners of the installation')} why={t('Your own projects are on the other pages.')} />
      ) : (
        <DataState of={read} rows={8}>
          {status => <Shown status={status} />}
        </DataState>
      )}
    </Page>
  )
}

const Shown = ({ status }: { status: Answer }) => (
  <>
    <Verdict status={status} />
    <div className="grid half start">
      <Machine status={status} />
      <Workers workers={status.workers} />
    </div>
    <div className="grid half start status-row">
      <Late late={status.late} />
      <Consumers consumers={status.consumers} />
    </div>
    <Figures figures={status.figures} />
  </>
)

/** What `/readyz` says, in one sentence. */
function Verdict({ status: { status, database, workers, figures } }: { status: Answer }) {
  const alive = workers.filter(({ is_alive }) => is_alive).length
  const good = status === 'ok' && alive > 0
  const why = [
    database.state === 'slow' && t('The database is slow.'),
    figures === null && t('The figures cannot be read at the moment.'),
    alive === 0 && t('No worker was seen in the last minute.'),
  ].filter(Boolean)
  return (
    <div className={`verdict ${good ? 'good' : 'warn'}`} role="status">
      <Icon name={good ? 'shield' : 'warn'} size={18} />
      <p>
        <strong>{good ? t('Everything moves.') : t('Something needs a look.')}</strong>{' '}
        {why.length > 0 ? why.join(' ') : counted(alive, '{n} worker is alive.', '{n} workers are alive.')}
      </p>
    </div>
  )
}
