import type { CustomerRow } from '../../../domain/audience/customers/customer.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'

export const NUMBER = { sandbox: 0, production: 1 } as const

export const customer = (row: CustomerRow, kind: EnvironmentKind) => ({
  object: 'customer' as const,
  id: row.id,
  url: `/v4/customers/${row.id}`,
  external_identity: row.identity_id,
  custom_uid: row.custom_uid,
  environment: NUMBER[kind],
  status: row.status,
  since: row.created_at,
  last_seen: row.last_seen_at,
  first_transaction_purchase_at: row.first_transaction_at,
  last_payment_at: row.last_payment_at,
  payments_count: row.payments_count,
  purchase_currency: row.purchase_currency,
  purchase_product_id: row.purchase_product_id,
  net_payments_usd: row.net_payments_usd,
  target_platform: row.platform,
  client_country: row.country,
  device_model: row.device_model,
  device_id: row.device_id,
  device_os_version: row.os_version,
})
