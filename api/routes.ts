import { descriptions, type OperationId } from '../schemas/generated/operations.ts'
import type { ApiOperation, Route } from './operation.ts'
import * as analyticsAnnotations from './v4/analytics/annotations.ts'
import * as appleAds from './v4/analytics/apple-ads.ts'
import * as appleAdsUpdate from './v4/analytics/apple-ads-update.ts'
import * as analyticsCharts from './v4/analytics/charts.ts'
import * as analyticsCohorts from './v4/analytics/cohorts.ts'
import * as drillDown from './v4/analytics/drill-down.ts'
import * as analyticsInsights from './v4/analytics/insights.ts'
import * as analyticsMeta from './v4/analytics/meta.ts'
import * as screensAnalytics from './v4/analytics/screens.ts'
import * as analyticsViews from './v4/analytics/views.ts'
import * as customers from './v4/audience/customers.ts'
import * as segments from './v4/audience/segments.ts'
import * as automationRuns from './v4/automations/automation-runs.ts'
import * as automations from './v4/automations/automations.ts'
import * as automationsSoFar from './v4/automations/so-far.ts'
import * as offerings from './v4/catalogue/offerings.ts'
import * as products from './v4/catalogue/products.ts'
import * as events from './v4/events/events.ts'
import * as experiments from './v4/growth/experiments.ts'
import * as experimentsSummary from './v4/growth/experiments-summary.ts'
import * as pushes from './v4/growth/pushes.ts'
import * as remoteConfigurations from './v4/growth/remote-configurations.ts'
import * as screens from './v4/growth/screens.ts'
import * as appleAdsConnection from './v4/integrations/apple-ads.ts'
import * as integrationConfig from './v4/integrations/config.ts'
import * as integrationDeliveries from './v4/integrations/deliveries.ts'
import * as integrations from './v4/integrations/integrations.ts'
import * as auditLog from './v4/kernel/audit-log.ts'
import * as alerts from './v4/oversight/alerts.ts'
import * as dueNext from './v4/oversight/due-next.ts'
import * as health from './v4/oversight/health.ts'
import * as ledger from './v4/oversight/ledger.ts'
import * as notificationChannels from './v4/oversight/notification-channels.ts'
import * as search from './v4/oversight/search.ts'
import * as testClock from './v4/oversight/test-clock.ts'
import * as timeline from './v4/oversight/timeline.ts'
import * as apiKeys from './v4/projects/api-keys.ts'
import * as projectSettings from './v4/projects/settings.ts'
import * as entitlements from './v4/purchases/entitlements.ts'
import * as purchaseAttempts from './v4/purchases/purchase-attempts.ts'
import * as purchases from './v4/purchases/purchases.ts'
import * as userEntitlements from './v4/purchases/user-entitlements.ts'
import * as exports_ from './v4/reporting/exports.ts'
import * as scheduledReports from './v4/reporting/scheduled-reports.ts'
import * as users from './v4/users/users.ts'

/** One operation per entry of the description. A missing operation, or one of the wrong type, fails the type check. */
const operations: { [Id in OperationId]: ApiOperation<Id> } = {
  ...alerts,
  ...analyticsAnnotations,
  ...drillDown,
  ...analyticsCharts,
  ...analyticsCohorts,
  ...analyticsInsights,
  ...analyticsMeta,
  ...analyticsViews,
  ...apiKeys,
  ...appleAds,
  ...appleAdsUpdate,
  ...appleAdsConnection,
  ...auditLog,
  ...automationRuns,
  ...automations,
  ...automationsSoFar,
  ...customers,
  ...entitlements,
  ...events,
  ...experimentsSummary,
  ...experiments,
  ...exports_,
  ...integrationConfig,
  ...integrationDeliveries,
  ...integrations,
  ...dueNext,
  ...health,
  ...ledger,
  ...notificationChannels,
  ...offerings,
  ...products,
  ...projectSettings,
  ...purchaseAttempts,
  ...purchases,
  ...pushes,
  ...remoteConfigurations,
  ...scheduledReports,
  ...screens,
  ...screensAnalytics,
  ...segments,
  ...search,
  ...testClock,
  ...timeline,
  ...userEntitlements,
  ...users,
}

export const routes: Route[] = descriptions.map(description => ({ description, operation: operations[description.id] as ApiOperation }))
