import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { Copy, shortId } from '../../parts/copy.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { customerStatus } from '../../parts/statuses.ts'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'

export const propertyOf = ({ userProperties }: CustomerData, key: string): string | undefined =>
  userProperties.find(property => property.key === key)?.value || undefined

export const nameOf = (view: CustomerData): string =>
  propertyOf(view, '_q_name') ?? view.customer.external_identity ?? propertyOf(view, '_q_custom_user_id') ?? t('Not identified')

export const About = ({ id, view: { customer } }: { id: string; view: CustomerData }) => (
  <span className="customer-about">
    <StatusChip {...customerStatus(customer.status)} />
    <Copy text={id} shown={shortId(id)} />
    <span>
      {t('customer since')} <Time at={customer.since} />
    </span>
    <span>
      {t('seen')} <Time at={customer.last_seen} relative />
    </span>
  </span>
)
