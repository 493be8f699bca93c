import { foldForList } from '../../../domain/analytics/folding/drain.ts'
import { foldUsersFirst } from '../../../domain/analytics/folding/fold-batch.ts'
import { viewCustomer } from '../../../domain/audience/customers/customer.ts'
import { listCustomers } from '../../../domain/audience/customers/list.ts'
import { customerMetrics } from '../../../domain/audience/customers/metrics.ts'
import type { CustomerSelection } from '../../../domain/audience/customers/selection.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Platform } from '../../../domain/kernel/platform.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { eraseCustomer } from '../../../domain/oversight/erasure/erase-customer.ts'
import { permits } from '../../../domain/projects/authority.ts'
import { type Property, propertyErrors, requireSaved, setProperties } from '../../../domain/users/properties.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import { expensiveRead, inTransaction, onPool } from '../../operation.ts'
import { behindHeader, cursorPage, restartedHeader } from '../../pagination.ts'
import { customer, NUMBER } from './shown-customer.ts'

function selected(query: Input<'v4GetCustomerMetrics'>['query'], kind: EnvironmentKind): CustomerSelection {
  if (query.environment !== undefined && query.environment !== NUMBER[kind])
    throw invalidField('environment', `must be ${NUMBER[kind]}, the environment of the key`)
  const { search, 'filter[status][]': statuses, 'filter[target_platform][]': platforms } = query
  return { search, statuses, platforms: platforms as Platform[] | undefined }
}

export const v4ListCustomers = expensiveRead('v4ListCustomers', async ({ query, environment, environmentKind: kind, db, deps }) => {
  const { limit, page, starting_after: after, sort_by: sort, sort_order: direction } = query
  if (page !== undefined && after !== undefined) throw invalidField('page', 'must not be given together with starting_after')
  const offset = ((page ?? 1) - 1) * limit
  const behind = await foldForList(db, environment)
  const { rows, restarted } = await listCustomers({ db, listing: deps.listing }, environment, selected(query, kind), {
    sort,
    direction,
    limit,
    offset,
    after,
  })
  return {
    body: cursorPage({ url: '/v4/customers', rows, limit, item: row => customer(row, kind) }),
    headers: { ...restartedHeader(restarted), ...behindHeader(behind) },
  }
})

export const v4GetCustomerMetrics = expensiveRead('v4GetCustomerMetrics', async ({ query, environment, environmentKind, db }) => {
  const behind = await foldForList(db, environment)
  const metrics = await customerMetrics(db, environment, selected(query, environmentKind))
  const { avg_payment_count: _average, avg_price: _price, sales: _sales, ...counts } = metrics
  return {
    body: {
      object: 'customer_metrics' as const,
      url: '/v4/customers/metrics' as const,
      ...metrics,
      active_subscribers: String(metrics.active_subscribers),
      active_trials: String(metrics.active_trials),
      billing_retry: String(metrics.billing_retry),
      clients_with_event: String(metrics.clients_with_event),
      counts,
    },
    headers: behindHeader(behind),
  }
})

export const v4GetCustomer = onPool('v4GetCustomer', async ({ path, environment, environmentKind, principal, db }) => {
  await foldUsersFirst(db, environment, [path.customer_id])
  const { customer: row, properties, events } = await viewCustomer(db, environment, path.customer_id)
  const { media_source: source, campaign, ad_set, ad } = row
  const attribution = Object.entries({ source, campaign, ad_set, ad })
  return {
    body: {
      object: 'customer' as const,
      url: `/v4/customers/${row.id}`,
      data: {
        customer: {
          client_id: row.id,
          external_identity: row.identity_id,
          environment: NUMBER[environmentKind],
          platform: row.platform,
          country: row.country,
          status: row.status,
          since: row.created_at,
          last_seen: row.last_seen_at,
        },
        device: {
          platform: row.platform,
          os_version: row.os_version,
          device_model: row.device_model,
          app_version: row.app_version,
          sdk_version: row.sdk_version,
        },
        attributionData: attribution.flatMap(([key, value]) => (value === null ? [] : [{ key, value }])),
        userProperties: properties,
        trackEvents: events,
        netPayments: row.net_payments_usd,
        currency: 'USD' as const,
        conversionRate: 1 as const,
        canRemoveCustomer: permits(principal.scopes, 'customers:write'),
        canEditEntitlements: permits(principal.scopes, 'entitlements:write'),
      },
    },
  }
})

const property = ({ key, value }: Property) => ({ key, value })

export const v4SetCustomerProperties = inTransaction('v4SetCustomerProperties', async ({ path, body, environment, trail, tx }) => {
  const id = path.customer_id
  const { saved, errors, before } = await setProperties(tx, environment, id, body.properties)
  requireSaved(saved, errors)
  const changed = saved.filter(({ key, value }) => before[key] !== value)
  if (changed.length > 0) {
    const replaced = changed.flatMap(({ key }) => (key in before ? [{ key, value: before[key]! }] : []))
    await audit(tx, trail, { resource: 'customer', id, user: id, before: { userProperties: replaced }, after: { userProperties: changed } })
  }
  return {
    body: {
      object: 'customer_properties' as const,
      url: `/v4/customers/${id}/properties`,
      data: { saved_properties: saved.map(property), property_errors: propertyErrors(errors) },
    },
  }
})

export const v4DeleteCustomer = inTransaction('v4DeleteCustomer', async ({ path, environment, trail, dryRun, tx, deps }) => {
  const pseudonym = await eraseCustomer(tx, environment, path.customer_id, deps.secrets)
  // A dry run tells the caller only, who knows the id.
  await audit(tx, trail, { resource: 'customer', id: dryRun ? path.customer_id : pseudonym, user: pseudonym })
  return { body: undefined }
})
