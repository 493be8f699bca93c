import type { CustomerData } from '../../../../clients/typescript/src/index.ts'
import { Amount } from '../../parts/amount.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { Copy, shortId } from '../../parts/copy.tsx'
import { Dotted } from '../../parts/dotted.tsx'
import { plain, t } from '../../parts/t.ts'
import { propertyOf } from './head.tsx'

/** Who it is: what names them, where they are, what they paid, where they came from. */
export function Person({ view }: { view: CustomerData }) {
  const { customer, device, attributionData, netPayments, currency } = view
  const copied = (text: string | null | undefined) => (text ? <Copy text={text} /> : undefined)
  return (
    <Card title={t('Person')}>
      <Pairs
        rows={[
          [t('User id'), <Copy key="id" text={customer.client_id} shown={shortId(customer.client_id)} />],
          [t('Identity'), copied(customer.external_identity)],
          ...(propertyOf(view, '_q_custom_user_id') ? [[t('Own id'), copied(propertyOf(view, '_q_custom_user_id'))] as const] : []),
          [t('E-mail'), copied(propertyOf(view, '_q_email'))],
          [t('Country'), customer.country],
          [t('Platform'), customer.platform],
          [t('Paid, net of refunds'), <Amount key="net" value={netPayments} currency={currency} />],
          [
            t('Device'),
            device.device_model || device.platform || device.os_version ? (
              <Dotted key="device" of={[device.device_model, device.platform, device.os_version]} />
            ) : undefined,
          ],
          [t('App version'), device.app_version],
          ...(device.sdk_version ? [[t('SDK version'), device.sdk_version] as const] : []),
          ...attributionData.map(({ key, value }) => [plain(key), value] as const),
        ]}
      />
    </Card>
  )
}
