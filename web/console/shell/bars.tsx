import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { usePlace } from '../data/place.ts'
import { useRead } from '../data/read.ts'
import { usePreferences } from '../data/session.ts'
import { moment } from '../parts/format.ts'
import { t } from '../parts/t.ts'

/** No page of the sandbox looks like one of production. */
export function SandboxBar() {
  const place = usePlace()
  const sandbox = place?.environment === 'sandbox'
  const { zone } = usePreferences()
  const { data } = useRead('v4GetTestClock', {}, { every: 30_000, when: sandbox })
  if (!sandbox) return null
  return (
    <section className="sandbox-bar" aria-label={t('Sandbox')}>
      <b>{t('Sandbox')}</b>
      {data && <span>{t('its clock shows {now}', { now: moment(data.now, zone) })}</span>}
    </section>
  )
}

/** Without a network the pages keep what they read last. */
export function OfflineBar() {
  const online = useSyncExternalStore(
    listener => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  )
  if (online) return null
  return (
    <div className="offline-bar" role="status">
      {t('No network. What you see was read before; nothing can be changed until it is back.')}
    </div>
  )
}
