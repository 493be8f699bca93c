import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Amount } from '../../parts/amount.tsx'
import { counted, t } from '../../parts/t.ts'
import { selectionOf } from './query.ts'

/** Who the selection is, in one line. While it is read the line keeps its height. */
export function Metrics() {
  const [search] = useAddress()
  const { data, isPlaceholderData, isError } = useRead('v4GetCustomerMetrics', { query: selectionOf(search) }, { topics: ['facts'] })
  if (isError && data === undefined) return <span>{t('The figures could not be read.')}</span>
  if (data === undefined) return <span className="metrics-wait"> </span>
  const parts = [
    counted(Number(data.active_subscribers), '{n} subscriber', '{n} subscribers'),
    t('{n} in a trial, {cancelled} of them cancelled', { n: data.active_trials, cancelled: data.canceled_trials }),
    counted(Number(data.billing_retry), '{n} failed charge', '{n} failed charges'),
    counted(data.churned_subscribers, '{n} has left', '{n} have left'),
  ]
  return (
    <span className={isPlaceholderData ? 'stale' : undefined}>
      {parts.join(' · ')} · <Amount value={data.sales} currency="USD" /> {t('net of refunds')}
    </span>
  )
}
