import { onlineManager } from '@tanstack/react-query'
import { useState, useSyncExternalStore } from 'react'
import { usePlace } from '../data/place.ts'
import { useRead } from '../data/read.ts'
import { usePreferences, useSession } from '../data/session.ts'
import { moment } from '../parts/format.ts'
import { t } from '../parts/t.ts'
import { To } from '../parts/to.tsx'

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
      <To to="/sandbox" className="bar-link">
        {t('Advance')}
      </To>
    </section>
  )
}

/** After an update of the service, this page still runs the pages of before. */
export function NewerBar() {
  const build = useSession().data?.console.build
  const [first, setFirst] = useState(build)
  if (first === undefined && build !== undefined) setFirst(build)
  if (build === undefined || build === null || first === undefined || first === null || build === first) return null
  return (
    <div className="offline-bar" role="status">
      {t('There are newer pages.')}
      <button type="button" className="bar-link" onClick={() => location.reload()}>
        {t('Load them')}
      </button>
    </div>
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
