import { Button } from '@mantine/core'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** Says where a key that was made can be looked at. */
export const REVEAL = 'Reveal-Url'

/** A new key is shown once, on a page of the service that no script reads. */
export const ShownOnce = ({ address, says, onClose }: { address: string | undefined; says: string; onClose: () => void }) => (
  <div className="form">
    <p>{says}</p>
    <p className="soft">{t('It is shown once, to you alone, within ten minutes. Have at hand where you keep it.')}</p>
    <div className="form-actions">
      <Button variant="default" size="xs" onClick={onClose}>
        {t('Close')}
      </Button>
      {address && (
        <Button
          component="a"
          size="xs"
          href={new URL(address).pathname}
          target="_blank"
          rel="noopener"
          leftSection={<Icon name="eye" size={14} />}
          data-autofocus
        >
          {t('Look at the new key')}
        </Button>
      )}
    </div>
  </div>
)
