import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { To } from '../../parts/to.tsx'

const EVENT = '{"events":[{"event_id":"first","event_name":"app_opened","identity_id":"person-1","happened_at":"NOW"}]}'

/** What a new project does first: a key, an event, and data to look at. It goes away with the first event. */
export default function FirstSteps() {
  const now = new Date().toISOString().replace(/\.\d+Z/, 'Z')
  const curl = `curl ${location.origin}/v4/events -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '${EVENT.replace('NOW', now)}'`
  return (
    <Card title={t('Three steps to the first figure')} className="first-steps">
      <ol>
        <li>
          <Step icon="key" title={t('Take a key')}>
            {t('The Secret Key of the project is shown once, when the project is made. Make a named key for your program under')}{' '}
            <To to="/settings" className="link">
              {t('Settings')}
            </To>
            .
          </Step>
        </li>
        <li>
          <Step icon="bolt" title={t('Send an event')}>
            {t('It appears on this page within a second:')}
            <Copy text={curl} />
          </Step>
        </li>
        <li>
          <Step icon="chart" title={t('Or look at data of others')}>
            {t('A thousand orders of a shop of music give charts, cohorts and customers to look at, in the sandbox:')}{' '}
            <To to="/sandbox" search={{ env: 'sandbox' }} className="link">
              {t('load the sample')}
            </To>
            .
          </Step>
        </li>
      </ol>
    </Card>
  )
}

const Step = ({ icon, title, children }: { icon: 'key' | 'bolt' | 'chart'; title: string; children: React.ReactNode }) => (
  <>
    <span className="empty-icon">
      <Icon name={icon} size={20} />
    </span>
    <div>
      <h3>{title}</h3>
      <div className="soft">{children}</div>
    </div>
  </>
)
