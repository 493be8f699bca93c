import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** Above a form that has what was typed before it was closed. */
export const KeptNotice = ({ onDiscard }: { onDiscard: () => void }) => (
  <div className="notice" role="status">
    <Icon name="info" />
    <div>{t('You have left this form without saving it. What you typed is here.')}</div>
    <button type="button" className="chip small" onClick={onDiscard}>
      {t('Discard it')}
    </button>
  </div>
)
