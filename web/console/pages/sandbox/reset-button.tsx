import { usePlace } from '../../data/place.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'

export const ResetButton = ({ onClick }: { onClick: () => void }) => (
  <Act
    size="xs"
    variant="default"
    leftSection={<Icon name="retry" size={14} />}
    denied={useDenied('editor', usePlace()?.project)}
    onClick={onClick}
  >
    {t('Begin anew')}
  </Act>
)
