import { useState } from 'react'
import { useOfflineSince } from '../data/online.ts'
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

/** Without a network the pages keep what they read last, and say of when that is. */
export function OfflineBar() {
  const since = useOfflineSince()
  const { zone } = usePreferences()
  if (since === undefined) return null
  return (
    <div className="offline-bar" role="status">
      {t('No network. What you see was read before {time}; nothing can be changed until it is back.', {
        time: moment(Math.floor(since / 1_000), zone),
      })}
    </div>
  )
}
