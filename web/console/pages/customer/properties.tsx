import { Button, Tooltip } from '@mantine/core'
import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { t } from '../../parts/t.ts'
import { NEEDS_EDITOR } from './access.tsx'

/** What the app or an integration knows of the customer, by key. */
export function Properties({ view: { userProperties, canEditEntitlements } }: { view: CustomerData }) {
  const [, set] = useAddress()
  return (
    <Card
      title={t('Properties')}
      right={
        <Tooltip label={t(NEEDS_EDITOR)} disabled={canEditEntitlements}>
          <Button
            size="compact-sm"
            variant="default"
            disabled={!canEditEntitlements}
            onClick={() => set({ at: 'properties' }, { push: true })}
          >
            {t('Edit')}
          </Button>
        </Tooltip>
      }
    >
      {userProperties.length > 0 ? (
        <Pairs rows={userProperties.map(({ key, value }) => [key, value || <Emptied key={key} />] as const)} />
      ) : (
        <p className="soft">{t('None yet. The app, a server or an automation sets them, and you with Edit.')}</p>
      )}
    </Card>
  )
}

const Emptied = () => <span className="faint">{t('empty')}</span>
