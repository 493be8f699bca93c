import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** A filter that is on; a click takes it away. */
export const Taken = ({ label, onTake }: { label: string; onTake: () => void }) => (
  <button type="button" className="chip on" aria-label={t('Take the filter {label} away', { label })} onClick={onTake}>
    <span className="chip-text" title={label}>
      {label}
    </span>
    <Icon name="close" size={12} />
  </button>
)
