import type { ReactNode } from 'react'
import { ApiError } from '../data/api-error.ts'
import { useSession } from '../data/session.ts'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

const AGAIN = 'sign_in_again'

/**
 * Shows what is sensitive only to somebody who gave the password or a code in the last ten minutes; until then, a link to the page that asks
 * for it and comes back to this address. `error`: of a write that the service has refused meanwhile.
 */
export function Again({ error, children }: { error?: unknown; children: ReactNode }) {
  const { data } = useSession()
  const isRefused = error instanceof ApiError && error.code === AGAIN
  const isRecent = data !== undefined && data.again_until !== null && data.again_until * 1000 > Date.now()
  if (data === undefined) return null
  if (isRecent && !isRefused) return children
  return (
    <div className="again">
      <p>{t('This is sensitive, and you have signed in some time ago. Give your password or code once more; then you are back here.')}</p>
      <a className="button-link" href={`/sign-in/again?next=${encodeURIComponent(location.pathname + location.search)}`}>
        <Icon name="key" size={14} />
        {t('It is me')}
      </a>
    </div>
  )
}
