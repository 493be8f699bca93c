import type { ReactNode } from 'react'
import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { UseName } from '../../parts/used-by.tsx'

/** Whether apps show the screen: published alone does not say so, since a context shows the one that was published last. */
export function Standing({ screen: { id, status, context_key, in_context: shown } }: { screen: Screen }) {
  const other = shown && shown.id !== id ? <UseName of={{ object: 'screen', ...shown }} /> : null
  const context = context_key === null ? null : <bdi className="screen-context">{context_key}</bdi>
  if (status !== 'published')
    return (
      <Said icon="info">
        {t('A draft: no app shows it.')}{' '}
        {context &&
          (other ? (
            <>
              {t('For the context')} {context} {t('apps are shown')} {other}.
            </>
          ) : (
            <>
              {t('For the context')} {context} {t('nothing is published yet.')}
            </>
          ))}
      </Said>
    )
  if (context === null)
    return <Said icon="info">{t('It belongs to no context: it is shown where an app or an automation names its id.')}</Said>
  if (other)
    return (
      <Said icon="warn" warn>
        {t('It is published, but for the context')} {context} {t('apps are shown')} {other},{' '}
        {t('which was published later. Those that ask for it by its id get this one.')}
      </Said>
    )
  return (
    <Said icon="check">
      {t('Apps are shown this screen for the context')} {context}.
    </Said>
  )
}

const Said = ({ icon, warn, children }: { icon: 'info' | 'warn' | 'check'; warn?: boolean; children: ReactNode }) => (
  <div className={warn ? 'notice warn' : 'notice'} role="status">
    <Icon name={icon} size={15} />
    <div className="screen-standing">{children}</div>
  </div>
)
